import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { type Actor, actor } from '../../../src/admin/contract/actor.ts';
import type { Overview } from '../../../src/admin/contract/overview.ts';
import type { AlertState } from '../../../src/alerts/alert-store.ts';
import type { Entry } from '../../../src/alerts/alert-tracker.ts';
import { loadConfig } from '../../../src/config/load-config.ts';
import { overviewOf } from '../../../src/daemon/api/overview.ts';
import { PollFailures } from '../../../src/daemon/joints/poll-failures.ts';
import type { AskLedger } from '../../../src/ledger/contract/ledger-pages.ts';
import { QueryThread } from '../../../src/ledger/queries/start-query-thread.ts';
import { openPostgresPages } from '../../../src/ledger-postgres/postgres-pages.ts';
import { disk } from '../../../src/platform/files/file-system.ts';
import { ROLES, type Role } from '../../../src/platform/options/role.ts';
import type { Clock } from '../../../src/platform/time/clock.ts';
import { sinkTypes } from '../../../src/sinks/registry.ts';
import { DiskTrend } from '../../../src/status/problems/disk-trend.ts';
import type { StaleConfig } from '../../../src/status/problems/problem.ts';
import { attemptDue, Install } from '../../cli/an-install.ts';
import { exportStateFiles } from '../../exports/export-state-files.ts';
import { delivered, HOUR, ids, LedgerUnderTest } from '../../ledger/ledger-under-test.ts';
import { PostgresStore } from '../../ledger-postgres/postgres-store.ts';

const refused = { kind: 'unavailable', reason: 'It answered 401.', httpStatus: 401 } as const;
const as = (role: Role): Actor => ({ who: role, via: 'token', role, address: '127.0.0.1' });

/** Returns a function that reads the overview of an installation. */
function overviewIn(install: Install, stale?: StaleConfig): () => Promise<Overview> {
  const queries = new QueryThread(join(install.folder, 'data', 'ledger.db'), { timeoutMs: 60_000 });
  onTestFinished(() => queries.close());
  return overviewOn(install, install.clock, queries.ask.bind(queries), stale);
}

/** Like `overviewIn`, on a machine with a clock of its own, from another ledger. */
function overviewOn(
  install: Install,
  clock: Clock,
  ask: AskLedger,
  stale?: StaleConfig,
  alerts: AlertState = { entries: [], waiting: {} },
): () => Promise<Overview> {
  const config = loadConfig(install.configFile, { sinkTypes, env: { CRM_TOKEN: 'secret' } });
  const context: Parameters<typeof overviewOf>[0] = {
    parts: {
      current: { config },
      clock,
      exportStates: exportStateFiles(disk, join(install.folder, 'data')),
      alerts: { read: async () => alerts, write: async () => undefined },
      rewriteCommands: (text: string) => text,
      pollFailures: new PollFailures(clock),
      diskTrend: new DiskTrend(),
    },
    unready: async () => [],
    state: () => ({ generation: 1, loadedAt: clock.now(), stale, values: [] }),
  };
  return () => overviewOf(context, ask);
}

test.each([-5 * HOUR, 5.5 * HOUR])(
  'the last hour is one by the clock of the server if the ledger is on one, also if that of the machine is off by %i ms',
  async (aheadMs) => {
    const store = new PostgresStore({}, aheadMs);
    const on = await LedgerUnderTest.with(store.open, 'crm');
    await on.list(ids(1, 3));
    await on.attemptAll('crm', delivered);
    const queries = await openPostgresPages(store.place());
    onTestFinished(() => queries.close());
    const now = () => on.clock.in(aheadMs);
    const clock = { now, monotonicMs: () => on.clock.monotonicMs(), sleep: on.clock.sleep.bind(on.clock) };
    const overview = await actor.run(as('admin'), overviewOn(new Install(), clock, queries.ask));
    expect(overview.at).toBe(on.clock.now().toISOString());
    const crm = overview.attempts_last_hour.find(({ sink }) => sink === 'crm');
    expect(crm).toMatchObject({ delivered: 3, success_rate: 1 });
    expect(overview.leads_per_hour.at(-1)).toMatchObject({ leads: 3 });
  },
);

const fault = 'leadsync.yaml:5:37: sinks.crm.url: the variable NO_SUCH is not set';

test('only an admin reads which file or variable the secret of a sink that answers 401 comes from, and the faults of the file', async () => {
  const crm = { type: 'webhook', url: 'http://127.0.0.1:9/hook', headers: { Authorization: '${CRM_TOKEN}' } };
  const install = new Install({ sinks: { crm: { ...crm, secret: { file: './crm.secret' } } } });
  const ledger = await install.listed(...Array.from({ length: 30 }, (_, i) => i + 1));
  await attemptDue(ledger, 'crm', install.clock, () => refused);
  writeFileSync(join(install.folder, 'crm.secret'), 'whsec_c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0');
  const overview = overviewIn(install, { since: install.clock.now(), faults: [fault] });
  for (const role of ROLES) {
    const { problems } = await actor.run(as(role), overview);
    const stale = problems.find(({ code }) => code === 'config_stale');
    expect(stale?.message.endsWith(role === 'admin' ? `: ${fault}` : '. It has 1 fault.'), role).toBe(true);
    const held = problems.find(({ code }) => code === 'sink_held');
    for (const step of [held?.next_step, held?.page_step]) {
      expect(step, role).toContain('`headers.Authorization`');
      expect(step?.includes('CRM_TOKEN'), role).toBe(role === 'admin');
      expect(step?.includes(`${install.folder}/crm.secret`), role).toBe(role === 'admin');
    }
  }
});

test('the sinks of the overview have all dead deliveries, including those of a removed sink', async () => {
  const install = new Install();
  const ledger = await install.listed(1, 2);
  await attemptDue(ledger, 'crm', install.clock, () => ({ kind: 'refused', reason: 'It says no.' }));
  install.configure({ sinks: { drop: { type: 'csv', directory: './drop' } } });
  await ledger.declareSinks([{ name: 'drop', events: ['created'], backfill: true }]);
  const { sinks, problems } = await actor.run(as('viewer'), overviewIn(install));
  expect(sinks.map(({ sink, state, dead }) => [sink, state, dead])).toEqual([
    ['drop', 'healthy', 0],
    ['crm', 'orphaned', 2],
  ]);
  expect(problems.map(({ code, about }) => [code, about])).toEqual([['deliveries_dead', 'crm']]);
});

test.each([
  [
    'with a destination, active alerts about a period are problems',
    { ops: { type: 'webhook', url: 'http://127.0.0.1:9/' } },
    ['slow_to_lead'],
  ],
  ['without a destination, leadsync evaluates no condition, so that stored alerts say nothing', {}, []],
])('%s', async (_, to, codes) => {
  const install = new Install({ alerts: { to } });
  await install.listed(1);
  const entry = (condition: 'slow_to_lead' | 'backlog_old' | 'sink_held', toldMs: number | undefined) =>
    ({
      condition,
      about: 'crm',
      sinceMs: 1,
      what: 'Leads take long.',
      severity: 'warning',
      toldMs,
    }) as unknown as Entry;
  const entries = [entry('slow_to_lead', 2), entry('backlog_old', undefined), entry('sink_held', 2)];
  const queries = new QueryThread(join(install.folder, 'data', 'ledger.db'), { timeoutMs: 60_000 });
  onTestFinished(() => queries.close());
  const ask = queries.ask.bind(queries);
  const read = overviewOn(install, install.clock, ask, undefined, { entries, waiting: {} });
  const { problems, sinks, healthy } = await actor.run(as('viewer'), read);
  expect(problems.map(({ code, about }) => [code, about])).toEqual(codes.map((code) => [code, 'crm']));
  expect(healthy).toBe(codes.length === 0);
  expect(sinks.find(({ sink }) => sink === 'crm')?.problems).toEqual(codes);
});
