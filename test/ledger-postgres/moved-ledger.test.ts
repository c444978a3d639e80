import pg from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { joinMachines } from '../../src/daemon/start/join-machines.ts';
import { HEALTHY } from '../../src/leads/sink-health.ts';
import type { CopySource } from '../../src/ledger/contract/ledger-copy.ts';
import type { SharedLedger } from '../../src/ledger/contract/machines.ts';
import { DUTY_LEASE_MS } from '../../src/ledger/rules/machines/lease-times.ts';
import { openPostgresSource } from '../../src/ledger-postgres/copying/postgres-copy-source.ts';
import { openPostgresLedger } from '../../src/ledger-postgres/postgres-ledger.ts';
import { Closers } from '../../src/platform/process/closers.ts';
import { systemClock } from '../../src/platform/time/clock.ts';
import { requireDatabaseUrl } from '../support/servers/services.ts';
import { endedOrWaits, PostgresStore } from './postgres-store.ts';

const MOVED = { to: 'elsewhere', at: 0 };
const noneDead = async () => false;

/** Opens the ledger of a store as a process does. Its transactions stop before the statement `name` until `go` is called. */
async function aProcess(store: PostgresStore, name?: string) {
  const reached = Promise.withResolvers<void>();
  const going = Promise.withResolvers<void>();
  const beforeStatement = async (statement: string) => {
    if (statement !== name) return;
    reached.resolve();
    await going.promise;
  };
  const judge = () => ({ health: HEALTHY, verdicts: [], reviveSince: undefined });
  const parts = { clock: systemClock, random: Math.random, judge, create: true, holder: 'one' };
  const ledger: SharedLedger = await openPostgresLedger({ ...store.place(), ...parts, beforeStatement });
  onTestFinished(() => ledger.close());
  const machines = ledger.machines(DUTY_LEASE_MS);
  const life = { machine: 'm', role: 'run', sinks: [], folders: [], wants: [], reluctant: [] };
  const beat = () => machines.beat(life, () => []);
  return { ledger, beat, reached: reached.promise, go: () => going.resolve() };
}

async function aSource(store: PostgresStore): Promise<CopySource> {
  const source = await openPostgresSource(store.place(), noneDead);
  onTestFinished(() => source.close());
  return source;
}

it('a process that shows itself while a ledger is being marked is seen by what marks it', async () => {
  const store = new PostgresStore();
  const { beat, reached, go } = await aProcess(store, 'has-mark');
  const source = await aSource(store);
  const beating = beat();
  await reached;
  const marking = source.markMoved(MOVED);
  const refused = expect(marking).rejects.toMatchObject({ code: 'held' });
  await endedOrWaits(store, marking);
  go();
  await beating;
  await refused;
  await beat();
});

it('a process that shows itself only after that sees the mark, and none sees that process', async () => {
  const store = new PostgresStore();
  const { beat, ledger } = await aProcess(store);
  const marking = new pg.Client({ connectionString: requireDatabaseUrl() });
  await marking.connect();
  onTestFinished(() => marking.end());
  await marking.query(`SET search_path = ${store.schema}; BEGIN; LOCK TABLE _processes IN SHARE ROW EXCLUSIVE MODE;
    CREATE TABLE _moved (moved_to text NOT NULL, moved_at bigint NOT NULL); INSERT INTO _moved VALUES ('elsewhere', 0)`);
  const beating = beat();
  const refused = expect(beating).rejects.toMatchObject({
    code: 'moved',
    message: expect.stringMatching(/ was moved to elsewhere at 1970-01-01T00:00:00Z\.$/),
  });
  await endedOrWaits(store, beating);
  await marking.query('COMMIT');
  await refused;
  expect(await store.query('SELECT 1 FROM _processes')).toEqual([]);
  await expect(ledger.isReplaced()).rejects.toMatchObject({ code: 'moved' });
});

it('a process that opened a ledger before it was moved does not start to work with it', async () => {
  const store = new PostgresStore();
  const { ledger } = await aProcess(store);
  await (await aSource(store)).markMoved(MOVED);
  const closers = new Closers();
  const joining = joinMachines(
    ledger,
    { role: 'run', clock: systemClock, machine: 'm', fingerprint: () => '' },
    closers,
  );
  await expect(joining).rejects.toMatchObject({ code: 'moved' });
  await closers.closeAll();
});
