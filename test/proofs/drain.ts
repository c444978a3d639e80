// How long a claim takes at the beginning of a long backlog, and ten minutes later, with the ledger in PostgreSQL and in SQLite.
// `npm run proof:drain`.

import { join } from 'node:path';
import pg from 'pg';
import { percentile } from '../../bench/report/statistics.ts';
import { judgeBy } from '../../src/delivery/judge.ts';
import type { BatchRef } from '../../src/leads/delivery.ts';
import type { Ledger } from '../../src/ledger/contract/ledger.ts';
import { openLedger } from '../../src/ledger/sqlite-ledger.ts';
import { openPostgresLedger } from '../../src/ledger-postgres/postgres-ledger.ts';
import { systemClock } from '../../src/platform/time/clock.ts';
import { readOrExit } from '../support/program/command-line.ts';
import { openRunFolder } from '../support/program/run-folder.ts';
import { runTool } from '../support/program/tool.ts';
import { aListedLead } from '../support/scene/a-lead.ts';
import { startPostgres } from '../support/servers/private-postgres.ts';
import { type DrainOptions, readOptions, USAGE } from './drain-options.ts';

const SINK = 'hook';
const WINDOW = 50;
const LEASE_MS = 60_000;
const MINUTE_MS = 60_000;
const CHUNK = 400;
/** Maximum of the last minute's 99th percentile, in times of the first minute's. */
const MOST = 2;

/** How long each claim of a minute took, in ms. */
type Minutes = readonly (readonly number[])[];

const options = readOrExit(readOptions, USAGE);

await runTool(async (opened) => {
  const parts = {
    clock: systemClock,
    random: Math.random,
    judge: judgeBy(() => ({ scheduleMs: [5_000], jitter: 0 }), Math.random),
    holder: 'proof',
    create: true,
  };
  const server = await opened.add(
    () => startPostgres({ settings: { fsync: 'on', full_page_writes: 'on' } }),
    (started) => started.close(),
  );
  const place = { url: server.url, schema: 'leadsync_ledger', connections: 10, applicationName: 'proof' };
  const onServer = await opened.add(
    () => openPostgresLedger({ ...parts, ...place }),
    (ledger) => ledger.close(),
  );
  const pool = await opened.add(
    () => new pg.Pool({ connectionString: server.url, max: 1 }),
    (made) => made.end(),
  );
  const deletedRows = async () => {
    const { rows } = await pool.query(
      "SELECT relname, n_dead_tup FROM pg_stat_user_tables WHERE relname IN ('_batches', '_deliveries') ORDER BY relname",
    );
    return rows.map(({ relname, n_dead_tup }) => `${n_dead_tup} deleted rows in ${relname}`).join(', ');
  };
  const isSteady = await drained('PostgreSQL', onServer, options, deletedRows);
  const folder = await opened.add(openRunFolder, (one) => one.close());
  const inFile = await opened.add(
    () => openLedger({ ...parts, file: join(folder.path, 'ledger.db') }),
    (ledger) => ledger.close(),
  );
  await drained('SQLite', inFile, options);
  return isSteady ? 0 : 1;
});

/** Drains a backlog, and prints how long claims take. Returns whether they stay as fast. */
async function drained(
  engine: string,
  ledger: Ledger,
  { leads, minutes }: DrainOptions,
  describe = async () => '',
): Promise<boolean> {
  await ledger.declareSinks([{ name: SINK, events: ['created'], backfill: true }]);
  await record(ledger, leads);
  say(`${engine}: ${leads} leads are owed`);
  const taken = await drain(ledger, minutes, describe);
  const p99 = (claims: readonly number[] | undefined) => percentile(claims ?? [], 99);
  const [first, last] = [p99(taken[0]), p99(taken.at(-1))];
  say(
    `${engine}: 99 of 100 claims take at most ${first.toFixed(1)} ms in the first minute and ${last.toFixed(1)} ms in the last, ${(last / first).toFixed(2)} times as long`,
  );
  return last <= MOST * first;
}

async function record(ledger: Ledger, leads: number): Promise<void> {
  const poll = await ledger.startPoll('main');
  for (let from = 1; from <= leads; from += CHUNK) {
    const size = Math.min(CHUNK, leads - from + 1);
    await ledger.record(
      poll,
      Array.from({ length: size }, (_, place) => aListedLead({ id: from + place }, from + place)),
    );
  }
  await ledger.finishPoll(poll, { status: 'success', bytes: 1, httpStatus: 200, mark: undefined });
}

/** Delivers until the time is over or nothing is owed any more. */
async function drain(ledger: Ledger, minutes: number, describe: () => Promise<string>): Promise<Minutes> {
  const taken: number[][] = [];
  const startMs = performance.now();
  for (let minute = 0; minute < minutes; minute += 1) {
    const [claims, before] = [[] as number[], performance.now()];
    let delivered = 0;
    let isOver = false;
    while (!isOver && performance.now() - startMs < (minute + 1) * MINUTE_MS) {
      const claimMs = performance.now();
      const { refs } = await ledger.claim({
        sink: SINK,
        window: WINDOW,
        max: 1,
        waitMs: 0,
        leaseMs: LEASE_MS,
        beginForMs: LEASE_MS,
      });
      claims.push(performance.now() - claimMs);
      await Promise.all(refs.map((ref) => deliver(ledger, ref)));
      delivered += refs.length;
      isOver = refs.length === 0;
    }
    const rate = (delivered / (performance.now() - before)) * 1000;
    const [median, p99] = [percentile(claims, 50), percentile(claims, 99)];
    const more = await describe();
    say(
      `minute ${minute + 1}: ${claims.length} claims, p50 ${median.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms; ${rate.toFixed(0)} leads/s${more && `; ${more}`}`,
    );
    taken.push(claims);
    if (isOver) break;
  }
  return taken;
}

async function deliver(ledger: Ledger, ref: BatchRef): Promise<void> {
  const startedAt = new Date();
  const begun = await ledger.begin(ref, LEASE_MS);
  if (begun) await ledger.settle(ref, { outcomes: [{ kind: 'delivered' }], startedAt, durationMs: 1 });
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
