import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { brokenRules } from '../../../src/ledger/database/consistency-rules.ts';
import { buildRecovered, type Recovered } from '../../../src/ledger/recovery/build-recovered.ts';
import { SETTLED } from '../../../src/ledger/recovery/repair-deliveries.ts';
import { LOST_TEXT } from '../../../src/ledger/rules/delivering/superseding.ts';
import { Chance } from '../../simulation/chance.ts';
import { delivered, LedgerUnderTest, MINUTE } from '../ledger-under-test.ts';
import { sqliteStore } from '../sqlite-store.ts';
import {
  aUsedLedger,
  ERASED_NAME,
  type Row,
  rowsOf,
  SINKS,
  type UsedLedger,
  withLedger,
} from './a-used-ledger.ts';
import { PageMap } from './damage.ts';

const DELIVERIES = `SELECT d.delivery_no, d.version_no, d.replay, d.state, d.reason, d.event, s.sink, v.source, v.id, v.version, l.erased_no,
  l.version_no AS current_no FROM _deliveries d JOIN _sinks s ON s.sink_no = d.sink_no JOIN _versions v ON v.version_no = d.version_no
  JOIN _leads l ON l.source = v.source AND l.id = v.id ORDER BY d.delivery_no`;
const VERSIONS = 'SELECT version_no, source, id, version, hash, raw FROM _versions';

const targetOf = (file: string) => `${file}.recovered`;
const isEmpty = ({ raw, id }: Row) => raw === `{"id":${id}}`;
const key =
  (...columns: string[]) =>
  (row: Row) =>
    columns.map((column) => row[column]).join(' ');

function recover({ file, clock }: UsedLedger): Recovered {
  return buildRecovered(file, targetOf(file), clock.now().getTime());
}

interface Before {
  readonly versions: readonly Row[];
  readonly deliveries: readonly Row[];
  readonly tables: Readonly<Record<string, number>>;
}

const COMPARED = ['_versions', '_deliveries', 'polls', 'rejected_leads'];

function before(file: string): Before {
  const rows = (table: string) => rowsOf(file, `SELECT 1 FROM ${table}`).length;
  return {
    versions: rowsOf(file, VERSIONS),
    deliveries: rowsOf(file, DELIVERIES),
    tables: Object.fromEntries(COMPARED.map((table) => [table, rows(table)])),
  };
}

/** Returns the number of deliveries of a version that the recovered ledger does not know. */
function ofLostVersions(file: string, was: Before): number {
  const known = new Set(rowsOf(file, VERSIONS).map(key('version_no')));
  return was.deliveries.filter((row) => !known.has(key('version_no')(row))).length;
}

/** Expects the recovered ledger to contain nothing that was not there before. */
function expectNothingFalse(file: string, was: Before): void {
  const versions = new Map(
    was.versions.map((row) => [key('version_no', 'source', 'id', 'version')(row), row]),
  );
  for (const row of rowsOf(file, VERSIONS)) {
    const known = versions.get(key('version_no', 'source', 'id', 'version')(row));
    expect(known, `version ${row['version_no']}`).toBeDefined();
    if (!isEmpty(row)) expect(row).toEqual(known);
  }
  const of = key('source', 'id', 'version', 'sink', 'replay');
  const states = new Map(was.deliveries.map((row) => [of(row), row['state']]));
  for (const row of rowsOf(file, DELIVERIES)) {
    if (row['erased_no'] !== null) continue;
    if (row['state'] === 'delivered') expect([of(row), states.get(of(row))]).toEqual([of(row), 'delivered']);
    if (row['state'] === 'skipped')
      expect(['skipped', 'delivered', undefined], of(row)).toContain(states.get(of(row)));
  }
}

/** Expects every owed lead to be owed still, or to be unknown and therefore new in the next listing. */
function expectNothingForgotten(file: string, was: Before): void {
  const leads = new Set(rowsOf(file, 'SELECT source, id FROM _leads').map(key('source', 'id')));
  const owed = new Set(
    rowsOf(file, DELIVERIES)
      .filter(({ state }) => state === 'pending' || state === 'dead')
      .map(key('source', 'id', 'sink')),
  );
  const sinks = new Set(rowsOf(file, 'SELECT sink FROM _sinks').map(key('sink')));
  const lost = was.deliveries
    .filter(({ state, erased_no, replay }) => state === 'pending' && erased_no === null && replay === 0)
    .filter((row) => leads.has(key('source', 'id')(row)) && sinks.has(String(row['sink'])))
    .map(key('source', 'id', 'sink'))
    .filter((one) => !owed.has(one));
  expect(lost).toEqual([]);
}

function expectErasedStayAway(file: string): void {
  expect(readFileSync(file).includes(ERASED_NAME)).toBe(false);
}

/** Lists everything again and delivers it. Returns what was delivered, by sink and lead. */
async function goOn({ file, clock, listing }: UsedLedger): Promise<string[]> {
  const on = new LedgerUnderTest(sqliteStore(targetOf(file)), clock);
  await on.declare(...SINKS);
  for (const { name } of SINKS) while (!(await on.ledger.backfill(name)).done);
  await on.list(listing);
  const sent: string[] = [];
  for (let round = 0; round < 3; round += 1) {
    for (const { name } of SINKS) {
      const leads = await on.attemptAll(name, delivered, { window: 10_000, max: 50 });
      sent.push(...leads.flat().map((lead) => `${name} ${lead}`));
    }
    clock.jump(10 * MINUTE);
  }
  return sent;
}

/** Expects every listed lead at every sink in its newest content after a poll, unless it was left out on purpose before. */
function expectAllArrived({ file, listing }: UsedLedger): void {
  const names = SINKS.map(({ name }) => name);
  const rows = rowsOf(targetOf(file), DELIVERIES).filter(
    ({ event, sink }) => event !== 'erased' && names.includes(String(sink)),
  );
  const settled = new Set(
    rows
      .filter(({ state, reason }) => state === 'delivered' || (state !== 'pending' && reason !== LOST_TEXT))
      .map(key('id', 'sink')),
  );
  const missing = listing
    .flatMap(({ id }) => SINKS.map(({ name }) => `${id} ${name}`))
    .filter((one) => !settled.has(one));
  expect(missing).toEqual([]);
  const newest = rows.filter(
    ({ sink, version_no, current_no }) => sink === 'updates' && version_no === current_no,
  );
  const brought = new Set(
    newest
      .filter(({ state, reason }) => state === 'delivered' || reason === SETTLED)
      .map(({ id }) => String(id)),
  );
  expect(listing.map(({ id }) => String(id)).filter((id) => !brought.has(id))).toEqual([]);
  expect(rows.filter(({ state }) => state === 'pending')).toEqual([]);
}

const SEEDS = Array.from({ length: 16 }, (_, seed) => seed + 1);

test.each(SEEDS)(
  'whatever pages are damaged, recovery keeps everything else and adds nothing false (seed %i)',
  async (seed) => {
    const used = await aUsedLedger();
    const map = new PageMap(used.file);
    const was = before(used.file);
    const damaged = map.damage(new Chance(seed, 'damage'));
    recover(used);
    const target = targetOf(used.file);
    expect(withLedger(target, brokenRules)).toEqual([]);
    for (const table of COMPARED) {
      const kept = rowsOf(target, `SELECT 1 FROM ${table}`).length;
      const lost = map.rowsOn(table, damaged) + (table === '_deliveries' ? ofLostVersions(target, was) : 0);
      expect(kept, table).toBeGreaterThanOrEqual((was.tables[table] ?? 0) - lost);
    }
    expectNothingFalse(target, was);
    expectNothingForgotten(target, was);
    expectErasedStayAway(target);
    await goOn(used);
    expectErasedStayAway(target);
    expectAllArrived(used);
    expect(withLedger(target, brokenRules)).toEqual([]);
  },
);
