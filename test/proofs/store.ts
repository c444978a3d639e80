// How long the documented queries take on a million leads, in the ledger and in PostgreSQL. `npm run proof:store`.
import { join } from 'node:path';
import Database from 'better-sqlite3';
import pg from 'pg';
import { queries } from '../../src/catalog/catalog.ts';
import { type Engine, pasted } from '../../src/catalog/query.ts';
import { copyAll } from '../../src/daemon/joints/mirror-ledger.ts';
import type { MirroredLedger } from '../../src/ledger/contract/mirrored-ledger.ts';
import { systemClock } from '../../src/platform/time/clock.ts';
import type { Mirror } from '../../src/sinks/mirror.ts';
import { PostgresSink } from '../../src/sinks/postgres/postgres.ts';
import { postgres } from '../../src/sinks/postgres/postgres-type.ts';
import { someParts } from '../sinks/some-parts.ts';
import { readOrExit } from '../support/program/command-line.ts';
import { openRunFolder } from '../support/program/run-folder.ts';
import { runTool } from '../support/program/tool.ts';
import { startPostgres } from '../support/servers/private-postgres.ts';
import { fillLedger, openForFilling } from './filled-ledger.ts';
import { readOptions, USAGE } from './store-options.ts';

const SCHEMA = 'leadsync';
const RUNS = 3;
const QUERY_MS = 2_000;
const VIEW_MS = 50;
const NEVER = new AbortController().signal;

const { leads } = readOrExit(readOptions, USAGE);

const asked = [
  ...queries.map((query) => ({
    name: `@${query.name}`,
    limitMs: QUERY_MS,
    sql: (on: Engine) => pasted(query, on),
  })),
  ...['v_freshness', 'v_sink_health'].map((view) => ({
    name: view,
    limitMs: VIEW_MS,
    sql: () => `SELECT * FROM ${view}`,
  })),
];

await runTool(async (opened) => {
  const folder = await opened.add(openRunFolder, (one) => one.close());
  const server = await opened.add(startPostgres, (one) => one.close());
  const file = join(folder.path, 'ledger.db');
  const sink = await opened.add(
    () =>
      new PostgresSink(
        postgres.options.parse({ url: server.url, schema: SCHEMA }),
        someParts({ timeoutMs: 60_000 }),
      ),
    (one) => one.close(),
  );
  const ledger = await opened.add(
    () => openForFilling(file),
    (one) => one.close(),
  );
  await timed('recorded and delivered', () =>
    fillLedger(ledger, leads, {
      crm: async ({ deliveries }) => deliveries.map(() => ({ kind: 'delivered' })),
      warehouse: (batch) => sink.deliver(batch, NEVER),
    }),
  );
  await spread(ledger, sink.mirror as Mirror);
  const client = await opened.add(
    async () => {
      const made = new pg.Client({ connectionString: server.url, options: `-c search_path=${SCHEMA}` });
      await made.connect();
      return made;
    },
    (one) => one.end(),
  );
  await client.query('VACUUM ANALYZE');
  const db = await opened.add(
    () => new Database(file, { readonly: true }),
    (one) => one.close(),
  );
  return (await measure(db, client)) ? 0 : 1;
});

/** Keys the clients, and mirrors everything, without the rests that a daemon takes. */
async function spread(ledger: MirroredLedger, mirror: Mirror): Promise<void> {
  await timed('whose clients were keyed', async () => {
    while (!(await ledger.computeClientKeys('a secret of some length')));
  });
  const clock = { ...systemClock, monotonicMs: () => 0, sleep: async () => undefined };
  const parts = { sink: 'warehouse', ledger, clock, emit: () => undefined, isBackground: false };
  await timed('mirrored', () => copyAll(mirror, parts, NEVER));
}

async function measure(db: Database.Database, client: pg.Client): Promise<boolean> {
  let ok = true;
  for (const { name, limitMs, sql } of asked) {
    const sqlite = await fastest(async () => db.prepare(sql('sqlite')).all().length);
    const inPostgres = await fastest(async () => (await client.query(sql('postgres'))).rows.length);
    const kept = sqlite.ms < limitMs && inPostgres.ms < limitMs && sqlite.rows === inPostgres.rows;
    ok &&= kept;
    process.stdout.write(
      `${name.padEnd(18)} ledger ${sqlite.ms.toFixed(0).padStart(5)} ms, PostgreSQL ${inPostgres.ms.toFixed(0).padStart(5)} ms, ${sqlite.rows} and ${inPostgres.rows} rows${kept ? '' : ' NOT as promised'}\n`,
    );
  }
  for (const { name, mb } of sizes(db)) process.stdout.write(`${name.padEnd(36)} ${mb} MB\n`);
  return ok;
}

/** The fastest of several runs: other work on the machine only ever makes it longer. */
async function fastest(run: () => Promise<number>): Promise<{ ms: number; rows: number }> {
  let best = { ms: Number.POSITIVE_INFINITY, rows: 0 };
  for (let n = 0; n < RUNS; n += 1) {
    const startMs = performance.now();
    const rows = await run();
    const ms = performance.now() - startMs;
    if (ms < best.ms) best = { ms, rows };
  }
  return best;
}

function sizes(db: Database.Database): { name: string; mb: number }[] {
  return db
    .prepare<[], { name: string; mb: number }>(
      `SELECT name, sum(pgsize) / 1000000 AS mb FROM dbstat WHERE name IN
        ('_versions', '_versions_by_service', '_versions_facts', '_client_keys', '_client_keys_by_key', 'sqlite_autoindex__client_keys_1')
      GROUP BY name ORDER BY name`,
    )
    .all();
}

async function timed(what: string, work: () => Promise<unknown>): Promise<void> {
  const startMs = performance.now();
  await work();
  process.stdout.write(`${leads} leads ${what} in ${((performance.now() - startMs) / 1000).toFixed(1)} s\n`);
}
