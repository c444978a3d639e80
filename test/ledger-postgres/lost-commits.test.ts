import { expect, it, onTestFinished } from 'vitest';
import { toLedgerFailure } from '../../src/ledger-postgres/database/ledger-failure.ts';
import { delivered, HOUR, LedgerUnderTest } from '../ledger/ledger-under-test.ts';
import { startProxy } from '../sinks/postgres/proxy.ts';
import { aListedLead } from '../support/scene/a-lead.ts';
import { requireDatabaseUrl } from '../support/servers/services.ts';
import { until } from '../support/time/until.ts';
import { PostgresStore } from './postgres-store.ts';

const complete = { status: 'success', bytes: 1, httpStatus: 200, mark: undefined } as const;

/** Opens a ledger behind a proxy that cuts the line after commits of transactions that run the named statement. */
async function behindProxy(statement: string, connections = 4) {
  const proxy = await startProxy(requireDatabaseUrl(), new RegExp(`\\0${statement}\\0`));
  const store = new PostgresStore({ url: proxy.url, connections });
  onTestFinished(proxy.close);
  return { proxy, store, on: await LedgerUnderTest.with(store.open, 'crm') };
}

it('a settlement whose commit was not answered counts as what became of it', async () => {
  const { proxy, on } = await behindProxy('settle');
  await on.list([1]);
  const { ref } = await on.take('crm');
  proxy.cutAfterCommit();
  expect(await on.settle(ref, delivered)).toMatchObject({ verdicts: [{ state: 'delivered' }] });
  expect(await on.owed('crm')).toEqual(['1 v1 delivered']);
  expect((await on.ledger.backlog())[0]).toMatchObject({ pending: 0 });
});

it('a claim whose commit was not answered counts as what became of it', async () => {
  const { proxy, on } = await behindProxy('make-batches');
  await on.list([1]);
  proxy.cutAfterCommit();
  expect((await on.claim('crm', { beginForMs: HOUR })).refs).toHaveLength(1);
});

it('a chunk whose commit got no answer is recorded once, and the poll continues', async () => {
  const { proxy, on } = await behindProxy('add-versions');
  const poll = await on.ledger.startPoll('main');
  proxy.cutAfterCommit();
  expect(await on.ledger.record(poll, [aListedLead({ id: 1 })])).toMatchObject({ new: 1 });
  expect(await on.ledger.record(poll, [aListedLead({ id: 2 })])).toMatchObject({ new: 1 });
  expect(await on.ledger.finishPoll(poll, complete)).toMatchObject({ listed: 2, new: 2 });
  expect(await on.owed('crm')).toEqual(['1 v1 pending', '2 v1 pending']);
});

it('the ledger looks up a commit whose answer was lost even if only one connection writes', async () => {
  const { proxy, on } = await behindProxy('settle', 1);
  await on.list([1]);
  const { ref } = await on.take('crm');
  proxy.cutAfterCommit();
  expect(await on.settle(ref, delivered)).toMatchObject({ verdicts: [{ state: 'delivered' }] });
});

it('the ledger looks up a commit whose answer was lost until the server accepts connections again', async () => {
  const { proxy, on } = await behindProxy('settle');
  await on.list([1]);
  const { ref } = await on.take('crm');
  proxy.cutAfterCommit(3);
  expect(await on.settle(ref, delivered)).toMatchObject({ verdicts: [{ state: 'delivered' }] });
  expect(await on.owed('crm')).toEqual(['1 v1 delivered']);
});

it('a commit that reaches the server after its line was cut is waited for', async () => {
  const { proxy, store, on } = await behindProxy('settle');
  await on.list([1]);
  const { ref } = await on.take('crm');
  const held = proxy.holdCommit();
  const settled = on.settle(ref, delivered);
  const passOn = await held;
  await until('the ledger waits for the transaction', () => store.isWaiting());
  passOn();
  expect(await settled).toMatchObject({ verdicts: [{ state: 'delivered' }] });
});

it('a connection gets another row after some transactions, because every version of a row may stay', async () => {
  const store = new PostgresStore({ connections: 1 });
  const on = await LedgerUnderTest.with(store.open, 'crm');
  const rows = () => store.query<{ no: number }>('SELECT commit_no::int AS no FROM _commits');
  const before = (await rows()).map(({ no }) => no);
  for (let n = 0; n < 105; n += 1) {
    await on.ledger.pause('crm', 'again');
    await on.ledger.resume('crm');
  }
  expect((await rows()).map(({ no }) => no)).toContainEqual(Math.max(...before) + 1);
});

it('rows of connections that have ended are removed, and a connection that is open gets a new one', async () => {
  const store = new PostgresStore();
  const on = await LedgerUnderTest.with(store.open, 'crm');
  await store.query("INSERT INTO _commits (token, at) SELECT 'old', 0 FROM generate_series(1, 50)");
  on.clock.jump(48 * HOUR);
  await on.ledger.checkpointLog();
  expect(await store.query("SELECT count(*)::int AS old FROM _commits WHERE token = 'old'")).toEqual([
    { old: 0 },
  ]);
  await on.list([1]);
  expect(await on.owed('crm')).toEqual(['1 v1 pending']);
});

it.each(['25P03', '25P04'])(
  'a transaction that the server ended after a timeout (%s) may succeed later',
  (code) => {
    const ended = Object.assign(new Error('terminating connection'), { severity: 'FATAL', code });
    expect(toLedgerFailure('PostgreSQL', ended)).toMatchObject({ code: 'busy', isTransient: true });
  },
);

it('an outcome is kept while the server refuses the login, because the password may be valid again soon', () => {
  const refused = Object.assign(new Error('password authentication failed'), {
    severity: 'FATAL',
    code: '28P01',
  });
  expect(toLedgerFailure('PostgreSQL', refused)).toMatchObject({ code: 'rights', isTransient: true });
});
