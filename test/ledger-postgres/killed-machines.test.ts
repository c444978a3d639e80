import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { LedgerUnderTest } from '../ledger/ledger-under-test.ts';
import { requireDatabaseUrl } from '../support/servers/services.ts';
import { until } from '../support/time/until.ts';
import { PostgresStore } from './postgres-store.ts';

const PROGRAM = fileURLToPath(new URL('./duty-process.ts', import.meta.url));
const LEASE_MS = 3_000;
const FAULTS = 6;
/** Numbers of leads that each process may record. */
const LEADS = 1_000_000;
const PATIENCE_MS = 60_000;

interface Said {
  readonly token?: string;
  readonly since?: string;
  readonly until?: string;
  readonly recorded?: number;
}

/** A process that polls while it holds the duty, and what it has reported. */
interface Poller {
  readonly kill: (signal: NodeJS.Signals) => void;
  readonly recorded: Set<number>;
  /** Between which times it trusted each lease, by its token, in ns. */
  readonly trusted: Map<string, { since: bigint; until: bigint }>;
}

function start(schema: string, number: number): Poller {
  const args = [requireDatabaseUrl(), schema, `process-${number}`, `${LEASE_MS}`, `${number * LEADS}`];
  const child = fork(PROGRAM, args, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const poller: Poller = {
    kill: (signal) => void child.kill(signal),
    recorded: new Set(),
    trusted: new Map(),
  };
  child.on('message', ({ token, since, until: last, recorded }: Said) => {
    if (recorded !== undefined) poller.recorded.add(recorded);
    if (token !== undefined)
      poller.trusted.set(token, { since: BigInt(since ?? 0), until: BigInt(last ?? 0) });
  });
  return poller;
}

it('processes that are killed or stand still never poll a source together, and lose no lead', async () => {
  const store = new PostgresStore();
  await LedgerUnderTest.with(store.open);
  // These processes go by the server's real time.
  await store.query(
    "CREATE OR REPLACE FUNCTION _now() RETURNS bigint LANGUAGE sql VOLATILE AS 'SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint'",
  );
  const pollers = [1, 2, 3].map((number) => start(store.schema, number));
  const tokens = () => pollers.flatMap(({ trusted }) => [...trusted.keys()]);
  const recorded = () => pollers.reduce((sum, poller) => sum + poller.recorded.size, 0);
  let seen = 0;
  for (let fault = 0; fault < FAULTS; fault += 1) {
    await until('another process polls', () => tokens().length > seen, PATIENCE_MS);
    const before = recorded();
    await until('another lead is recorded', () => recorded() > before, PATIENCE_MS);
    const spans = pollers.map((poller) => ({ poller, last: lastTrusted(poller) }));
    const [holder] = spans.sort((a, b) => Number(b.last - a.last));
    seen = tokens().length;
    if (fault % 2 === 0) {
      holder?.poller.kill('SIGKILL');
      pollers.push(start(store.schema, pollers.length + 1));
    } else {
      holder?.poller.kill('SIGSTOP');
      await until('another process polls', () => tokens().length > seen, PATIENCE_MS);
      holder?.poller.kill('SIGCONT');
    }
  }
  for (const poller of pollers) poller.kill('SIGKILL');
  const spans = pollers.flatMap(({ trusted }) => [...trusted.values()]);
  const inOrder = spans.sort((a, b) => (a.since < b.since ? -1 : 1));
  for (const [index, { until: last }] of inOrder.entries()) {
    const next = inOrder[index + 1];
    expect(next === undefined || last < next.since).toBe(true);
  }
  const rows = await store.query<{ id: number }>('SELECT id::int AS id FROM _leads');
  const stored = new Set(rows.map(({ id }) => id));
  expect(pollers.flatMap(({ recorded }) => [...recorded]).filter((lead) => !stored.has(lead))).toEqual([]);
});

function lastTrusted({ trusted }: Poller): bigint {
  return [...trusted.values()].reduce((last, { until: to }) => (to > last ? to : last), 0n);
}
