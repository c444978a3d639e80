import { copyFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { buildRecovered } from '../../../src/ledger/recovery/build-recovered.ts';
import { migrations } from '../../../src/ledger/schema/schema.ts';
import { changedLead, delivered, LedgerUnderTest } from '../ledger-under-test.ts';
import { sqliteStore } from '../sqlite-store.ts';
import { aUsedLedger, ERASED, rowsOf, SINKS, type UsedLedger, withLedger } from './a-used-ledger.ts';
import { PageMap } from './damage.ts';

const DELIVERED = `SELECT s.sink || ' ' || v.id AS what FROM _deliveries d JOIN _sinks s ON s.sink_no = d.sink_no
  JOIN _versions v ON v.version_no = d.version_no JOIN _leads l ON l.version_no = v.version_no WHERE d.state = 'delivered' AND d.event <> 'erased'`;

const targetOf = (file: string) => `${file}.recovered`;
const recover = ({ file, clock }: UsedLedger) => buildRecovered(file, targetOf(file), clock.now().getTime());
const deliveredIn = (file: string) => new Set(rowsOf(file, DELIVERED).map(({ what }) => String(what)));

/** Lists everything again and delivers what is owed. Returns what was delivered, by sink and lead. */
async function deliverAll({ file, clock, listing }: UsedLedger): Promise<string[]> {
  const on = new LedgerUnderTest(sqliteStore(targetOf(file)), clock);
  await on.declare(...SINKS);
  await on.list(listing);
  const sent: string[] = [];
  const isErased = (lead: bigint) => ERASED.includes(Number(lead)); // a sink is notified of it
  for (const { name } of SINKS) {
    const leads = await on.attemptAll(name, delivered, { window: 10_000, max: 50 });
    sent.push(
      ...leads
        .flat()
        .filter((lead) => !isErased(lead))
        .map((lead) => `${name} ${lead}`),
    );
  }
  return sent;
}

test.each(['_versions', '_deliveries', '_leads', '_deliveries_by_version', '_sinks', '_sources', 'polls'])(
  'after damage to a page of %s, nothing that was delivered is delivered again',
  async (name) => {
    const used = await aUsedLedger();
    const [first] = new PageMap(used.file).of(name, 'leaf');
    const before = deliveredIn(used.file);
    new PageMap(used.file).overwrite([first?.pageno ?? 0]);
    recover(used);
    const sent = await deliverAll(used);
    const replayed = 'updates 12'; // an operator requested it again
    expect(sent.filter((one) => before.has(one) && one !== replayed)).toEqual([]);
    const missing = used.listing
      .map(({ id }) => `updates ${id}`)
      .filter((one) => !deliveredIn(targetOf(used.file)).has(one));
    expect(missing).toEqual([]);
  },
);

test.each(['_deliveries', '_batches', '_mappings', '_deliveries_by_version', '_sinks'])(
  'after damage to a page of %s, no lead goes to a sink with a mapping as it was received',
  async (name) => {
    const used = await aUsedLedger();
    const map = new PageMap(used.file);
    map.overwrite(map.of(name, 'leaf').map(({ pageno }) => pageno));
    recover(used);
    const on = new LedgerUnderTest(sqliteStore(targetOf(used.file)), used.clock);
    await on.declare(...SINKS);
    await on.list(used.listing);
    let attempted = 0;
    for (const { name: sink } of SINKS)
      for (const ref of (await on.claim(sink, { window: 10_000, max: 50 })).refs) {
        const { batch } = await on.begin(ref);
        attempted += batch.deliveries.length;
        expect(batch.mapping).toBeDefined();
        expect(batch.deliveries.filter(({ formerMapping }) => formerMapping === null)).toEqual([]);
      }
    expect(attempted).toBeGreaterThan(0);
  },
);

test('a lead that lost its text gets it back from the listing, under its old version', async () => {
  const used = await aUsedLedger();
  const map = new PageMap(used.file);
  const texts = () =>
    rowsOf(
      targetOf(used.file),
      'SELECT version_no, id, version, raw, service_slug FROM _versions ORDER BY 1',
    );
  const was = rowsOf(
    used.file,
    'SELECT version_no, id, version, raw, service_slug FROM _versions ORDER BY 1',
  );
  map.overwrite(map.of('_versions', 'leaf').map(({ pageno }) => pageno));
  const recovered = recover(used);
  expect(recovered.leadsWithoutText).toBeGreaterThan(used.listing.length);
  expect(texts().every(({ raw, id }) => raw === `{"id":${id}}`)).toBe(true);
  await deliverAll(used);
  const listed = new Set(used.listing.map(({ raw }) => raw));
  const now = new Map(texts().map((row) => [row['version_no'], row]));
  for (const row of was.filter(({ raw }) => listed.has(String(raw))))
    expect(now.get(row['version_no'])).toEqual(row);
});

test.each(['created,erased', 'created,updated,erased'])(
  'a sink that asks for %s still does, and a delivery restored for it keeps its event',
  async (events) => {
    const used = await aUsedLedger();
    withLedger(used.file, (db) => {
      db.prepare("UPDATE _sinks SET events = ? WHERE sink = 'updates'").run(events);
      db.pragma('wal_checkpoint(TRUNCATE)');
    });
    const map = new PageMap(used.file);
    const eventOf = (file: string) =>
      new Map(
        rowsOf(
          file,
          "SELECT delivery_no, event FROM _deliveries JOIN _sinks USING (sink_no) WHERE sink = 'updates'",
        ).map((row) => [row['delivery_no'], row['event']]),
      );
    const before = eventOf(used.file);
    map.overwrite(map.of('_deliveries', 'leaf').map(({ pageno }) => pageno));
    const { deliveriesRestored } = recover(used);
    expect(deliveriesRestored).toBeGreaterThan(100);
    expect(rowsOf(targetOf(used.file), "SELECT events FROM _sinks WHERE sink = 'updates'")).toEqual([
      { events },
    ]);
    const restored = [...eventOf(targetOf(used.file))].filter(([no]) => before.has(no));
    expect(restored.length).toBeGreaterThan(50);
    if (events.includes('updated'))
      expect(restored.filter(([no, event]) => before.get(no) !== event)).toEqual([]);
  },
);

test('a sink whose row is lost still gets a change as a change', async () => {
  const used = await aUsedLedger();
  const asks = "SELECT sink, events FROM _sinks WHERE sink IN ('crm', 'updates') ORDER BY sink";
  const events =
    "SELECT delivery_no, event FROM _deliveries JOIN _sinks USING (sink_no) WHERE sink = 'updates' ORDER BY delivery_no";
  const before = { asks: rowsOf(used.file, asks), events: rowsOf(used.file, events) };
  const map = new PageMap(used.file);
  const pages = [...map.of('_sinks', 'leaf'), ...map.of('_deliveries', 'leaf').slice(0, 1)];
  map.overwrite(pages.map(({ pageno }) => pageno));
  expect(recover(used).sinksRestored).toContain('updates');
  expect(rowsOf(targetOf(used.file), asks)).toEqual(before.asks);
  expect(rowsOf(targetOf(used.file), events)).toEqual(before.events);
});

test('an operator cannot send a lead that has lost its text', async () => {
  const used = await aUsedLedger();
  const map = new PageMap(used.file);
  map.overwrite(map.of('_versions', 'leaf').map(({ pageno }) => pageno));
  expect(recover(used).deliveriesWaiting).toBeGreaterThan(0);
  const on = new LedgerUnderTest(sqliteStore(targetOf(used.file)), used.clock);
  await on.declare(...SINKS);
  expect(await on.ledger.retry({ states: ['dead'] })).toBe(0);
  const sent = await on.attemptAll('crm');
  expect(sent.flat().filter((lead) => !ERASED.includes(Number(lead)))).toEqual([]);
});

test('no number is used twice, and the ledger keeps its id', async () => {
  const used = await aUsedLedger();
  const map = new PageMap(used.file);
  const numbers = (file: string) =>
    Object.fromEntries(
      rowsOf(file, 'SELECT name, seq FROM sqlite_sequence').map(({ name, seq }) => [name, seq]),
    );
  const before = numbers(used.file);
  const id = rowsOf(used.file, 'SELECT id FROM _ledger');
  map.overwrite(
    ['_batches', 'polls', '_presence'].flatMap((name) => map.of(name).map(({ pageno }) => pageno)),
  );
  recover(used);
  expect(numbers(targetOf(used.file))).toEqual(before);
  expect(rowsOf(targetOf(used.file), 'SELECT id FROM _ledger')).toEqual(id);
  await deliverAll(used);
  expect(rowsOf(targetOf(used.file), 'SELECT restored_at FROM _ledger')).toEqual([{ restored_at: null }]);
});

test('a running batch stays the same batch if no delivery is missing', async () => {
  const used = await aUsedLedger();
  const batches = (file: string) =>
    rowsOf(file, 'SELECT batch_no, delivery_no FROM _deliveries WHERE batch_no IS NOT NULL ORDER BY 1, 2');
  const before = batches(used.file);
  expect(before.length).toBeGreaterThan(4);
  const map = new PageMap(used.file);
  map.overwrite(map.of('polls', 'leaf').map(({ pageno }) => pageno));
  recover(used);
  expect(batches(targetOf(used.file))).toEqual(before);
  const leased = 'SELECT 1 FROM _batches WHERE lease <> 0 OR holder IS NOT NULL';
  expect(rowsOf(targetOf(used.file), leased)).toEqual([]);
  const unsure = `SELECT 1 FROM _deliveries d JOIN _sinks s ON s.sink_no = d.sink_no WHERE sink = 'updates' AND batch_no IS NOT NULL AND unsure_at IS NULL`;
  expect(rowsOf(targetOf(used.file), unsure)).toEqual([]);
});

test('erased persons stay erased when the table of erasures is lost', async () => {
  const used = await aUsedLedger();
  const map = new PageMap(used.file);
  map.overwrite(map.of('_erased').map(({ pageno }) => pageno));
  recover(used);
  const on = new LedgerUnderTest(sqliteStore(targetOf(used.file)), used.clock);
  await on.declare(...SINKS);
  await on.list([...used.listing, ...ERASED.map((id) => changedLead(id, 'Back again'))]);
  const back = rowsOf(targetOf(used.file), "SELECT id FROM _versions WHERE raw LIKE '%Back again%'");
  expect(back).toEqual([]);
  expect(rowsOf(targetOf(used.file), 'SELECT id FROM _erased ORDER BY 1').map(({ id }) => id)).toEqual(
    ERASED,
  );
});

test('on a full disk, recovery ends with the next step and leaves the damaged ledger unchanged', async () => {
  const used = await aUsedLedger();
  const map = new PageMap(used.file);
  map.overwrite([map.of('polls', 'leaf')[0]?.pageno ?? 0]);
  const small = (target: string) => {
    const db = new Database(target);
    db.pragma('max_page_count = 60');
    return db;
  };
  const before = readFileSync(used.file);
  expect(() => buildRecovered(used.file, targetOf(used.file), used.clock.now().getTime(), small)).toThrow(
    expect.objectContaining({
      code: 'full',
      message: expect.stringContaining('Nothing was changed'),
      hint: expect.stringContaining('as much space as the damaged one'),
    }),
  );
  expect(readFileSync(used.file).equals(before)).toBe(true);
  expect(existsSync(targetOf(used.file))).toBe(false);
});

test('a ledger of an older schema is recovered into the current one', async () => {
  const used = await aUsedLedger();
  withLedger(used.file, (db) => {
    // Undo the last eleven steps.
    const views = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'view'").pluck().all();
    for (const view of views) db.exec(`DROP VIEW ${String(view)}`);
    db.exec(`DROP INDEX _attempts_failed; DROP TABLE _sink_activity; DROP TABLE _sink_holds; ALTER TABLE _deliveries DROP COLUMN bound; ALTER TABLE _deliveries DROP COLUMN reissued; ALTER TABLE _replays DROP COLUMN left_out; ALTER TABLE _deliveries DROP COLUMN was_left_out; ALTER TABLE _deliveries DROP COLUMN ref; ALTER TABLE _client_keys DROP COLUMN keyed_at; DROP TABLE _clock_set_back; DROP TABLE _listing_sizes;
      ALTER TABLE _deliveries DROP COLUMN excused; ALTER TABLE _sinks DROP COLUMN mapping_no; ALTER TABLE _batches DROP COLUMN mapping_no;
      ALTER TABLE _deliveries DROP COLUMN mapping_no; DROP TABLE _mappings; DROP TABLE _presence`);
    db.pragma(`user_version = ${migrations.length - 11}`);
    db.pragma('wal_checkpoint(TRUNCATE)');
  });
  const map = new PageMap(used.file);
  map.overwrite([map.of('_attempts', 'leaf')[1]?.pageno ?? 0]);
  expect(recover(used).leads).toBe(rowsOf(used.file, 'SELECT 1 FROM _leads').length);
  expect(withLedger(targetOf(used.file), (db) => db.pragma('user_version', { simple: true }))).toBe(
    migrations.length,
  );
});

test('recovery gives up a ledger without its first page and names the next step', async () => {
  const used = await aUsedLedger();
  new PageMap(used.file).overwrite([1]);
  expect(() => recover(used)).toThrow(/Nothing can be recovered from the ledger .*first pages/);
  expect(existsSync(targetOf(used.file))).toBe(false);
});

test('recovery leaves a file that is not a ledger alone', async () => {
  const used = await aUsedLedger();
  writeFileSync(used.file, 'leads, leads, leads\n'.repeat(1000));
  expect(() => recover(used)).toThrow(
    expect.objectContaining({ hint: expect.stringContaining('leadsync ledger accept') }),
  );
  withLedger(`${used.file}-other`, (db) => db.exec('CREATE TABLE t (a)'));
  copyFileSync(`${used.file}-other`, used.file);
  expect(() => recover(used)).toThrow(/not a leadsync ledger/);
  expect(readdirSync(dirname(used.file)).filter((name) => name.includes('recovered'))).toEqual([]);
});

test('damage to a page that defines only views or later tables loses nothing that the others define', async () => {
  const used = await aUsedLedger();
  const whole = recover(used);
  const map = new PageMap(used.file);
  const bytes = readFileSync(used.file);
  // The first of these pages defines the tables without which nothing can be recovered.
  for (const { pageno } of map.of('sqlite_schema', 'leaf').slice(1)) {
    map.overwrite([pageno]);
    expect(recover(used)).toMatchObject({ leads: whole.leads, erased: whole.erased, leadsWithoutText: 0 });
    writeFileSync(used.file, bytes);
  }
});
