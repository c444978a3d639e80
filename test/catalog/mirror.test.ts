import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, it, onTestFinished } from 'vitest';
import { openLedger } from '../../src/ledger/sqlite-ledger.ts';
import { systemClock } from '../../src/platform/time/clock.ts';
import {
  aSink,
  delivered,
  HOUR,
  ids,
  LedgerUnderTest,
  refused,
  unavailable,
} from '../ledger/ledger-under-test.ts';
import { mirrored } from '../ledger/mirrored.ts';
import { sqliteStore } from '../ledger/sqlite-store.ts';
import { openPostgres } from '../sinks/postgres/database.ts';
import { tempDir } from '../support/files/temp-dir.ts';
import { aListedLead } from '../support/scene/a-lead.ts';
import { HeldClock } from '../support/time/held-clock.ts';
import { comparable, TwoStores } from './two-stores.ts';

const STATES = 'SELECT lead_id, state, attempts, reason FROM deliveries ORDER BY lead_id';
const WRONG = { kind: 'rejected', reason: 'is wrong', path: 'client_email' } as const;
const CRM = `${STATES.replace(' ORDER', " WHERE sink = 'crm' ORDER")}`;

it('copies each change of a delivery', async () => {
  const stores = await TwoStores.open();
  const same = async () => expect(await stores.inPostgres(CRM)).toEqual(stores.inLedger(CRM));
  await stores.list([1, 2, 3]);
  await stores.bring();
  await same();
  await stores.attempt(2, refused);
  await stores.attempt(1, unavailable);
  await stores.bring();
  await same();
  expect(await stores.inPostgres("SELECT sink, pending, dead FROM v_sink_health WHERE sink = 'crm'")).toEqual(
    [{ sink: 'crm', pending: '1', dead: '2' }],
  );
  stores.on.clock.jump(1000);
  await stores.on.ledger.retry({ sink: 'crm' });
  await stores.bring();
  await same();
  await stores.attempt(3, delivered);
  await stores.bring();
  await same();
  expect(await stores.inPostgres('SELECT * FROM v_undelivered')).toEqual([]);
  expect(await stores.inPostgres("SELECT count(*) AS n FROM attempts WHERE sink = 'crm'")).toEqual([
    { n: '6' },
  ]);
});

it('copies a delivery that is discarded, retried and delivered', async () => {
  const stores = await TwoStores.open();
  const same = async () => expect(await stores.inPostgres(CRM)).toEqual(stores.inLedger(CRM));
  await stores.list([1, 2, 3]);
  await stores.attempt(1, delivered);
  await stores.attempt(2, refused);
  await stores.on.ledger.discard({}, { by: 'anna', note: 'wrong number' });
  await stores.bring();
  await same();
  const [, discarded] = await stores.inPostgres(CRM);
  expect(discarded).toMatchObject({
    state: 'skipped',
    reason: 'discarded by anna: wrong number. Dead before: It says no.',
  });
  expect(await stores.inPostgres('SELECT * FROM v_undelivered')).toEqual([]);
  await stores.on.ledger.retry({ states: ['discarded'] });
  await stores.attempt(2, delivered); // before the mirror sees that they are pending
  await stores.bring();
  await same();
  expect(
    await stores.inPostgres(
      "SELECT count(*) AS n FROM deliveries WHERE sink = 'crm' AND state = 'delivered'",
    ),
  ).toEqual([{ n: '3' }]);
});

it('counts the attempts that failed in the same way, even of a sink that refuses everything', async () => {
  const attempts =
    "SELECT lead_id, outcome, times, last_started_at FROM attempts WHERE sink = 'crm' ORDER BY lead_id, started_at";
  for (const outcome of [refused, unavailable]) {
    const stores = await TwoStores.open();
    await stores.list(ids(1, 6));
    for (let round = 0; round < 12; round += 1) {
      await stores.attempt(1, outcome);
      await stores.bring();
      stores.on.clock.jump(HOUR);
    }
    const inLedger = stores.inLedger(attempts);
    expect(inLedger.filter(({ times }) => Number(times) > 1)).not.toEqual([]);
    expect(await stores.inPostgres(attempts)).toEqual(inLedger);
  }
});

it('has a delivery only under its new id if its lead changes before the first attempt', async () => {
  const stores = await TwoStores.open();
  const names = "SELECT delivery_id, lead_version FROM deliveries WHERE sink = 'crm'";
  await stores.on.list([1]);
  await stores.bring();
  const [before] = await stores.inPostgres(names);
  await stores.on.list([aListedLead({ id: 1, client_name: 'New' })]);
  await stores.bring();
  const after = await stores.inPostgres(names);
  expect(after).toEqual(stores.inLedger(names));
  expect(after).toMatchObject([{ lead_version: '2' }]);
  expect(after[0]?.['delivery_id']).not.toBe(before?.['delivery_id']);
});

it('copies the end of a poll, and a rejected lead until it becomes valid', async () => {
  const stores = await TwoStores.open();
  const poll = await stores.on.ledger.startPoll('main');
  await stores.bring();
  expect(await stores.inPostgres('SELECT status FROM polls')).toEqual([{ status: 'running' }]);
  await stores.on.ledger.finishPoll(poll, { status: 'failed', httpStatus: 500, error: 'It failed.' });
  await stores.bring();
  expect(await stores.inPostgres('SELECT status, http_status, error FROM polls')).toEqual([
    { status: 'failed', http_status: '500', error: 'It failed.' },
  ]);
});

it('shows a rejected lead as open again if it does not match the description again', async () => {
  const stores = await TwoStores.open();
  const rejected = 'SELECT lead_id, poll_id, last_poll_id, resolved_at FROM rejected_leads';
  const broken = { ...aListedLead({ id: 1, client_email: null }), ...WRONG };
  for (const listing of [[broken], [1], [broken]]) {
    stores.on.clock.jump(HOUR);
    await stores.list(listing);
    await stores.bring();
    expect(await stores.inPostgres(rejected)).toEqual(stores.inLedger(rejected));
  }
  expect(await stores.inPostgres(rejected)).toMatchObject([{ last_poll_id: '3', resolved_at: null }]);
});

it('copies a lead’s versions, and closes an earlier version that it has already copied', async () => {
  const stores = await TwoStores.open();
  await stores.list([1]);
  await stores.bring();
  stores.on.clock.jump(HOUR);
  await stores.list([aListedLead({ id: 1, client_name: 'Changed' })]);
  await stores.bring();
  const versions = 'SELECT version, valid_from, valid_to, is_current FROM lead_versions ORDER BY version';
  expect(await stores.inPostgres(versions)).toEqual(stores.inLedger(versions));
  expect((await stores.inPostgres(versions)).map((row) => row['is_current'])).toEqual(['0', '1']);
});

it('writes nothing if nothing has changed', async () => {
  const stores = await TwoStores.open();
  await stores.list(ids(1, 20));
  await stores.bring();
  const written = 'SELECT no, xmin::text FROM _deliveries ORDER BY 1';
  const before = await stores.inPostgres(written);
  await stores.bring();
  expect(await stores.inPostgres(written)).toEqual(before);
});

it('updates the overview of leads and polls during a long first round', async () => {
  const stores = await TwoStores.open();
  await stores.list(ids(1, 2500));
  const poll = await stores.on.ledger.startPoll('main');
  const { mirror } = stores;
  const writeOverview = mirror.writeOverview.bind(mirror);
  const shown: unknown[] = [];
  mirror.writeOverview = async (...given) => {
    await writeOverview(...given);
    if (shown.length === 0)
      await stores.on.ledger.finishPoll(poll, { status: 'failed', httpStatus: 500, error: 'It failed.' });
    const [at] = await stores.inPostgres(
      `SELECT (SELECT count(*) FROM v_freshness) AS sources, (SELECT count(*) FROM v_sink_health) AS sinks,
        (SELECT count(*) > 0 FROM v_speed_to_lead) AS brought, (SELECT count(*) FROM lead_versions) AS versions,
        (SELECT count(*) FROM polls WHERE status = 'running') AS running`,
    );
    shown.push(at);
  };
  await stores.bring();
  expect(shown).toEqual([
    { sources: '1', sinks: '2', brought: '1', versions: '2000', running: '1' },
    { sources: '1', sinks: '2', brought: '1', versions: '2500', running: '0' },
    { sources: '1', sinks: '2', brought: '1', versions: '2500', running: '0' },
  ]);
});

it('stops reading a table in a round that has reached its end', async () => {
  const stores = await TwoStores.open();
  await stores.list(ids(1, 2500));
  const reads: string[] = [];
  const ledger = mirrored(stores.on.ledger);
  const counting: typeof ledger = {
    ...ledger,
    historyAfter: (table, ...part) => {
      reads.push(table);
      return ledger.historyAfter(table, ...part);
    },
  };
  await stores.bring(counting);
  const readsOf = (table: string) => reads.filter((one) => one === table).length;
  expect(readsOf('lead_versions')).toBeGreaterThan(2);
  expect({ attempts: readsOf('attempts'), rejected: readsOf('rejected_leads') }).toEqual({
    attempts: 1,
    rejected: 1,
  });
});

it('continues with another process where it stopped, in parts', async () => {
  const stores = await TwoStores.open();
  await stores.list(ids(1, 1200));
  const seen: number[] = [];
  const { mirror } = stores;
  const write = mirror.write.bind(mirror);
  let left = 3;
  mirror.write = async (ledger, table, rows, signal) => {
    seen.push(rows.length);
    if (left === 0) throw new Error('killed');
    left -= 1;
    return write(ledger, table, rows, signal);
  };
  await expect(stores.bring()).rejects.toThrow('killed');
  mirror.write = write;
  await stores.bring();
  expect(Math.max(...seen)).toBeLessThanOrEqual(1000);
  expect(await stores.inPostgres('SELECT count(*) AS n FROM lead_versions')).toEqual([{ n: '1200' }]);
  expect(await stores.inPostgres('SELECT count(*) AS n FROM deliveries')).toEqual([{ n: '2400' }]);
});

it('copies large texts in parts of limited size', async () => {
  const stores = await TwoStores.open();
  const large = ids(1, 8).map((id) => aListedLead({ id, note: 'x'.repeat(1_500_000) }));
  const broken = large.map(
    (item) => ({ ...item, kind: 'rejected', reason: 'is wrong', path: '', hash: `r${item.id}` }) as const,
  );
  await stores.on.list([...large, ...broken]);
  const { mirror } = stores;
  const write = mirror.write.bind(mirror);
  let most = 0;
  mirror.write = async (ledger, table, rows, signal) => {
    most = Math.max(most, JSON.stringify(rows).length);
    return write(ledger, table, rows, signal);
  };
  await stores.bring();
  await stores.on.list([...large, ...broken]);
  await stores.bring();
  await stores.computeClientKeys('a secret of some length');
  await stores.bring();
  expect(most).toBeLessThan(6_000_000);
  expect(await stores.inPostgres('SELECT count(*) AS n FROM lead_versions')).toEqual([{ n: '8' }]);
  const last = 'SELECT rejected_id, last_poll_id FROM rejected_leads ORDER BY 1';
  expect(await stores.inPostgres(last)).toEqual(stores.inLedger(last));
  expect(await stores.inPostgres('SELECT leads FROM v_clients')).toEqual([{ leads: '8' }]);
});

it('keeps the rows of an earlier ledger beside those of a new ledger that numbers from 1', async () => {
  const stores = await TwoStores.open();
  await stores.list([1, 2]);
  await stores.bring();
  const file = `${tempDir()}/ledger.db`;
  const judge = () => {
    throw new Error('nothing is attempted here');
  };
  const anew = openLedger({ file, create: true, clock: systemClock, random: Math.random, judge });
  await anew.startPoll('main');
  await stores.bring(anew);
  expect(await stores.inPostgres('SELECT poll_id, status FROM polls ORDER BY started_at')).toEqual([
    { poll_id: '1', status: 'success' },
    { poll_id: '1', status: 'running' },
  ]);
  await anew.close();
});

it('counts the delivery time of a lead once, even if a new ledger delivers it again after the old one was lost', async () => {
  const stores = await TwoStores.open();
  await stores.list([1, 2]);
  await stores.attempt(2, delivered);
  await stores.bring();
  const speed = 'SELECT lead_id, sink, delivered_at FROM v_speed_to_lead ORDER BY 1, 2';
  const before = await stores.inPostgres(speed);
  expect(before).toHaveLength(4);
  const later = new HeldClock();
  later.jump(HOUR);
  const anew = new LedgerUnderTest(sqliteStore(), later);
  await anew.declare(aSink('crm'));
  await anew.list([aListedLead({ id: 1, client_name: 'Changed' }), 2]);
  for (const ref of (await anew.claim('crm', { window: 2 })).refs)
    await anew.settle((await anew.begin(ref)).ref, delivered);
  await stores.bring(anew.ledger);
  const known = 'SELECT count(*) AS n FROM deliveries WHERE lead_id = 1';
  expect(await stores.inPostgres(known)).toEqual([{ n: '3' }]);
  const after = await stores.inPostgres(speed);
  expect(after.map(({ lead_id, sink }) => `${lead_id} ${sink}`)).toEqual(
    before.map(({ lead_id, sink }) => `${lead_id} ${sink}`),
  );
  expect(after[0]).toEqual(before[0]);
});

it('shows a delivery once if two ledgers have it under the same id, with the attempts of both', async () => {
  const stores = await TwoStores.open();
  await stores.list([1, 2]);
  await stores.attempt(2, delivered);
  await stores.bring();
  const later = new HeldClock();
  later.jump(HOUR);
  const anew = new LedgerUnderTest(sqliteStore(), later);
  await anew.declare(aSink('crm'));
  await anew.list([1, 2]);
  for (const ref of (await anew.claim('crm', { window: 2 })).refs)
    await anew.settle((await anew.begin(ref)).ref, delivered);
  for (let round = 0; round < 2; round += 1) {
    await stores.bring(anew.ledger);
    const ofCrm = "FROM deliveries WHERE sink = 'crm'";
    expect(
      await stores.inPostgres(`SELECT count(*) AS n, count(DISTINCT delivery_id) AS ids ${ofCrm}`),
    ).toEqual([{ n: '2', ids: '2' }]);
    expect(await stores.inPostgres(`SELECT DISTINCT _leadsync_ledger AS ledger ${ofCrm}`)).toEqual([
      { ledger: anew.ledger.id },
    ]);
    expect(
      await stores.inPostgres(
        "SELECT lead_id, count(DISTINCT started_at) AS n, count(*) AS tries FROM attempts WHERE sink = 'crm' GROUP BY 1 ORDER BY 1",
      ),
    ).toEqual([
      { lead_id: '1', n: '2', tries: '2' },
      { lead_id: '2', n: '2', tries: '2' },
    ]);
  }
});

it('lacks the contents from before a new ledger, unless the history was copied as documented', async () => {
  const stores = await TwoStores.open();
  await stores.on.list([1]);
  await stores.bring();
  const { schema } = stores.postgres;
  const readme = readFileSync(join(import.meta.dirname, '../../src/sinks/postgres/README.md'), 'utf8');
  const [, recipe = ''] = /```sql\n(CREATE SCHEMA archive;[^`]+)```/.exec(readme) ?? [];
  onTestFinished(async () => void (await stores.postgres.query(`DROP SCHEMA ${schema}_archive CASCADE`)));
  await stores.postgres.query(
    recipe.replaceAll('archive', `${schema}_archive`).replaceAll('leadsync.', `${schema}.`),
  );
  const before = stores.on.clock.now().toISOString();
  const later = new HeldClock();
  later.jump(HOUR);
  const anew = new LedgerUnderTest(sqliteStore(), later);
  await anew.list([aListedLead({ id: 1, client_name: 'Changed' })]);
  await stores.bring(anew.ledger);
  const asOf = (table: string) =>
    stores.inPostgres(
      `SELECT raw ->> 'client_name' AS name FROM ${table} WHERE lead_id = 1 AND valid_from <= '${before}' AND (valid_to IS NULL OR valid_to > '${before}')`,
    );
  expect(await asOf('lead_versions')).toEqual([]);
  expect(await asOf(`${schema}_archive.lead_versions`)).toEqual([{ name: 'Anna Müller' }]);
});

it('has one current content of a lead, that of the restored ledger and not that of the lost one', async () => {
  const stores = await TwoStores.open();
  await stores.on.list([1]);
  const file = `${tempDir()}/restored.db`;
  const ledger = new Database(stores.disk.file);
  await ledger.backup(file);
  ledger.close();
  for (const client_name of ['Second', 'Third']) {
    stores.on.clock.jump(HOUR);
    await stores.on.list([aListedLead({ id: 1, client_name })]);
  }
  await stores.bring();
  const judge = () => {
    throw new Error('nothing is attempted here');
  };
  const restored = openLedger({ file, create: true, clock: systemClock, random: Math.random, judge });
  await stores.bring(restored);
  const current = 'SELECT version FROM lead_versions WHERE is_current';
  expect(await stores.inPostgres(current)).toEqual([{ version: '1' }]);
  const poll = await restored.startPoll('main');
  await restored.record(poll, [aListedLead({ id: 1, client_name: 'Third' })]);
  await stores.bring(restored);
  expect(await stores.inPostgres(current)).toEqual([{ version: '2' }]);
  const lasting =
    'SELECT version FROM lead_versions WHERE valid_to IS NULL OR valid_to > valid_from ORDER BY 1';
  expect(await stores.inPostgres(lasting)).toEqual([{ version: '1' }, { version: '2' }]);
  await restored.close();
});

it('copies the ledger of a restored disk snapshot, and keeps the rows that it copied before as those of a lost ledger', async () => {
  const stores = await TwoStores.open();
  await stores.list(ids(1, 3));
  await stores.attempt(1, delivered);
  const setAside = {
    ...aListedLead({ id: 90 }),
    kind: 'rejected',
    reason: 'is wrong',
    path: '',
    hash: 'r90',
  } as const;
  stores.on.clock.jump(HOUR);
  await stores.on.list([...ids(1, 3), setAside]);
  await stores.bring();
  const file = `${tempDir()}/snapshot.db`;
  const ledger = new Database(stores.disk.file);
  await ledger.backup(file);
  ledger.close();
  for (const id of ids(4, 9)) {
    stores.on.clock.jump(HOUR);
    await stores.list([id, aListedLead({ id: 1, client_name: `Lost ${id}` })]);
    await stores.attempt(1, refused);
  }
  await stores.bring();
  const before = Number((await stores.inPostgres('SELECT count(*) AS n FROM polls'))[0]?.['n']);

  // Opened as what it is: a snapshot of a disk keeps the file's number, and when it was made.
  const after = new HeldClock();
  after.jump(100 * HOUR);
  const on = new LedgerUnderTest((parts) => openLedger({ ...parts, file, create: false }), after);
  onTestFinished(() => on.ledger.close());
  await on.list([4, 10, aListedLead({ id: 1, client_name: 'Kept' })]);
  for (const ref of (await on.claim('crm', { window: 2 })).refs)
    await on.settle((await on.begin(ref)).ref, unavailable);
  await stores.bring(on.ledger);
  const known = new Database(file, { readonly: true });
  for (const [table, columns] of Object.entries({
    polls: 'poll_id, started_at, status, leads_new',
    lead_versions: '_leadsync_no, lead_id, version, valid_from',
    deliveries: '_leadsync_no, lead_id, sink, state, owed_at',
    attempts: '_leadsync_no, lead_id, sink, started_at, outcome',
    rejected_leads: 'rejected_id, source, hash',
  })) {
    const own = `SELECT ${columns} FROM ${table} WHERE _leadsync_ledger = '${on.ledger.id}' ORDER BY 1`;
    const rows = known.prepare(`SELECT ${columns} FROM ${table} ORDER BY 1`).all();
    expect(rows.length).toBeGreaterThan(0);
    expect(await stores.inPostgres(own)).toEqual(
      rows.map((row) => comparable(row as Record<string, unknown>)),
    );
  }
  known.close();
  expect(await stores.inPostgres('SELECT count(*) AS n FROM polls')).toEqual([{ n: String(before + 1) }]);
  const current = "SELECT version FROM lead_versions WHERE is_current AND lead_id = '1'";
  expect(await stores.inPostgres(current)).toEqual([{ version: '2' }]);
  expect(stores.events).toEqual([]);
});

it('leaves out the rows that PostgreSQL rejects, reports them, and copies the rest', async () => {
  const stores = await TwoStores.open();
  await stores.list(ids(1, 9));
  await stores.bring();
  await stores.postgres.query('ALTER TABLE _deliveries ADD CHECK (lead_id <> 14)');
  await stores.list(ids(10, 20));
  await stores.bring();
  expect(await stores.inPostgres('SELECT count(DISTINCT lead_id) AS n FROM deliveries')).toEqual([
    { n: '19' },
  ]);
  expect(stores.events).toEqual([
    expect.objectContaining({
      type: 'mirror-failed',
      sink: 'warehouse',
      reason: '2 rows of deliveries were refused and left out.',
    }),
  ]);
});

it('continues while deliveries use every connection', async () => {
  const stores = await TwoStores.open();
  await stores.list([1]);
  await stores.bring();
  const lock = await stores.lock('leads');
  const held = stores.list([1, 2]);
  await stores.bring();
  expect(await stores.inPostgres('SELECT count(*) AS n FROM lead_versions')).toEqual([{ n: '2' }]);
  await lock.release();
  await held;
});

it('delays no delivery', async () => {
  const stores = await TwoStores.open();
  await stores.list([1]);
  await stores.bring();
  const lock = await stores.lock('polls');
  const held = stores.bring();
  await stores.list([1, 2]);
  expect(await stores.inPostgres('SELECT count(*) AS n FROM leads')).toEqual([{ n: '2' }]);
  await lock.release();
  await held;
});

it('does not exist if it is switched off', () => {
  expect(openPostgres({ url: 'postgresql://127.0.0.1/x', mirror: false }).mirror).toBeUndefined();
  expect(openPostgres({ url: 'postgresql://127.0.0.1/x', mirror: '1m' }).mirror?.everyMs).toBe(60_000);
});

it('removes the client keys if there is no secret any more, and replaces them with another secret', async () => {
  const stores = await TwoStores.open();
  await stores.list([1, 2]);
  const keys = async () => {
    await stores.bring();
    const sql = 'SELECT id, client_key FROM v_leads_no_pii ORDER BY id';
    const [ledger, postgres] = [stores.inLedger(sql), await stores.inPostgres(sql)];
    expect(postgres).toEqual(ledger);
    return ledger.map((row) => row['client_key'] ?? null);
  };
  expect(await keys()).toEqual([null, null]);
  await stores.computeClientKeys('the first secret');
  const first = await keys();
  expect(first[0]).toMatch(/^[0-9a-f]{32}$/);
  expect(first[1]).toBe(first[0]);
  await stores.computeClientKeys('another secret');
  const second = await keys();
  expect(second[0]).not.toBe(first[0]);
  await stores.computeClientKeys(undefined);
  expect(await keys()).toEqual([null, null]);
  expect(await stores.inPostgres('SELECT * FROM v_clients')).toEqual([]);
});

it('has a renamed sink only under its last name, even in rows that it copied before', async () => {
  const stores = await TwoStores.open();
  const names = `SELECT sink, count(*) AS n FROM deliveries GROUP BY 1 UNION ALL SELECT sink, count(*) FROM attempts GROUP BY 1
    UNION ALL SELECT sink, 0 FROM v_sink_health ORDER BY 1, 2`;
  const same = async () => expect(await stores.inPostgres(names)).toEqual(stores.inLedger(names));
  const warehouse = aSink('warehouse', { events: ['created', 'updated'] });
  await stores.list([1, 2]);
  await stores.attempt(1, delivered);
  await stores.bring();
  await stores.on.declare(warehouse, { ...aSink('customers'), formerly: 'crm' });
  await stores.bring();
  await same();
  await stores.on.declare(warehouse, { ...aSink('buyers'), formerly: 'customers' }, aSink('crm'));
  await stores.list([3]);
  await stores.bring();
  await same();
  expect(
    (await stores.inPostgres('SELECT sink FROM v_sink_health ORDER BY 1')).map((row) => row['sink']),
  ).toEqual(['buyers', 'crm', 'warehouse']);
});

it('renames a sink in the next round if it is renamed during a round', async () => {
  const stores = await TwoStores.open();
  await stores.list([1, 2]);
  await stores.bring();
  const { mirror } = stores;
  const last = mirror.lastNumber.bind(mirror);
  mirror.lastNumber = async (...asked) => {
    if (asked[1] === '_erased')
      await stores.on.declare(aSink('warehouse'), { ...aSink('customers'), formerly: 'crm' });
    return last(...asked);
  };
  await stores.bring();
  mirror.lastNumber = last;
  await stores.bring();
  const names = 'SELECT DISTINCT sink FROM deliveries ORDER BY 1';
  expect(await stores.inPostgres(names)).toEqual(stores.inLedger(names));
});
