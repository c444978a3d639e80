import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { relations } from '../../src/catalog/catalog.ts';
import { EXPORT_FORMATS, type ExportFormat } from '../../src/exports/contract/format-names.ts';
import { exportTables } from '../../src/exports/files/export-tables.ts';
import { openTables } from '../../src/exports/files/open-tables.ts';
import { exportedRows } from '../../src/exports/files/read-export.ts';
import { type ExportResult, runExport } from '../../src/exports/start-export-process.ts';
import type { LedgerTables, TablesPlace } from '../../src/ledger/contract/ledger-tables.ts';
import { exportOnce } from '../../src/operations/scheduled-exports.ts';
import { disk } from '../../src/platform/files/file-system.ts';
import { eventfulLedger } from '../catalog/eventful-store.ts';
import { HOUR, ids, LedgerUnderTest, type OpenLedger } from '../ledger/ledger-under-test.ts';
import { SqliteFile } from '../ledger/sqlite-store.ts';
import { PostgresStore } from '../ledger-postgres/postgres-store.ts';
import { tempDir } from '../support/files/temp-dir.ts';
import { aLead, listedAs } from '../support/scene/a-lead.ts';
import { until } from '../support/time/until.ts';
import { exportStateFiles } from './export-state-files.ts';

const never = new AbortController().signal;
const EXPORTED_AT = new Date('2026-11-21T00:00:00.000Z');

/** What is computed at the moment of the export, and numbers, which may have gaps in PostgreSQL. */
const OWN = ['age_seconds', '_leadsync_no'];

/** Leads whose JSON is spelled in a way of its own, which an export of either ledger has to keep or to change in the same way. */
function spelled() {
  const answers = [
    '[ {"slug" : "b\\u0062", "question":"a  b\\t\\/",\n "answer" : "1.50e1"},\r\n\t{"slug":"a","question":"","answer":"\\"x \\\\"} ]',
    `[{"slug":"\ud83d\ude00","answer":"1"},{"slug":"\uffee","answer":"2"},{"slug":"a","answer":"${'long '.repeat(20_000)}"}]`,
    '[{"slug":"a\\u0000","answer":"\\ud800 \\u00e9"}]',
  ];
  return answers.map((json, at) => {
    const marker = JSON.stringify('answers');
    const raw = aLead({ id: 20 + at, service_question_answers: 'answers' }).replace(marker, () => json);
    return listedAs(BigInt(20 + at), raw, at);
  });
}

async function happen(open: OpenLedger): Promise<void> {
  const on = await eventfulLedger(open);
  await on.list(spelled());
}

/** The places of two ledgers in which the same happened: one in SQLite and one in PostgreSQL. */
async function twoPlaces(): Promise<readonly [TablesPlace, TablesPlace]> {
  const [disk, store] = [new SqliteFile(), new PostgresStore()];
  await happen(disk.open);
  await happen(store.open);
  return [{ kind: 'file', file: disk.file }, placeOf(store)];
}

function placeOf(store: PostgresStore): TablesPlace {
  return { kind: 'server', url: store.place().url, schema: store.schema };
}

async function opened(place: TablesPlace): Promise<LedgerTables> {
  const tables = await openTables(place);
  onTestFinished(() => tables.close());
  return tables;
}

it('the tables of both ledgers have the same cells, to the last character and type', async () => {
  const [ofFile, ofServer] = await Promise.all((await twoPlaces()).map(opened));
  for (const relation of relations) {
    const own = relation.columns.map(({ name }) => OWN.includes(name));
    const cells = async (tables: LedgerTables | undefined) => {
      const rows = (await Array.fromAsync(tables?.parts(relation, undefined) ?? [])).flat();
      return rows.map((row) => row.map((cell, at) => (own[at] ? typeof cell : cell)));
    };
    const rows = await cells(ofServer);
    expect(rows, relation.name).not.toEqual([]);
    expect(inOrder(rows), relation.name).toEqual(inOrder(await cells(ofFile)));
  }
});

/** Returns the rows as text, in an order of their own. */
function inOrder(rows: readonly (readonly unknown[])[]): string[] {
  const shown = (_: string, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value);
  return rows.map((row) => JSON.stringify(row, shown)).sort();
}

it.each(EXPORT_FORMATS)('an export as %s has the same rows from both ledgers', async (format) => {
  const [ofFile, ofServer] = await Promise.all((await twoPlaces()).map((place) => exported(place, format)));
  expect(await rowsIn(ofServer as string)).toEqual(await rowsIn(ofFile as string));
});

it('an export of leads as text is the same file from both ledgers, also by day', async () => {
  for (const format of ['csv', 'jsonl'] as const) {
    const [ofFile, ofServer] = await Promise.all(
      (await twoPlaces()).map((place) => exported(place, format, 'days')),
    );
    const leadsIn = (output = '') =>
      readdirSync(join(output, 'leads'))
        .sort()
        .map((day) => [day, readFileSync(join(output, 'leads', day, `leads.${format}`), 'utf8')]);
    expect(leadsIn(ofServer)).toEqual(leadsIn(ofFile));
  }
});

/** Exports everything. Returns the path. */
async function exported(ledger: TablesPlace, format: ExportFormat, layout?: 'days'): Promise<string> {
  const output = join(tempDir(), 'export');
  const request = {
    ledger,
    output,
    format,
    relations,
    layout: layout ?? (format === 'sqlite' ? 'file' : 'folder'),
    since: undefined,
    exportedAt: EXPORTED_AT,
  } as const;
  await exportTables(request, () => undefined, never);
  return output;
}

/** Returns the rows of an export, with the name of their file, in an order of their own. */
async function rowsIn(output: string): Promise<string[]> {
  const files = statSync(output).isFile() ? [output] : readdirSync(output).map((name) => join(output, name));
  const rows: unknown[][] = [];
  for (const file of files)
    for await (const row of exportedRows(file, (columns) => columns)) {
      const shown = Object.entries(row).filter(([name]) => !OWN.includes(name));
      rows.push([file.slice(output.length), ...shown.flat()]);
    }
  return inOrder(rows);
}

it('all tables of an export from a server are of one moment, also those that other threads read', async () => {
  const store = new PostgresStore();
  const on = await LedgerUnderTest.with(store.open);
  await on.list(ids(1, 3));
  const tables = await opened(placeOf(store));
  await on.list(ids(1, 7));
  const others = await opened(tables.shared);
  for (const one of [tables, others])
    for (const name of ['leads', 'lead_versions'])
      expect((await Array.fromAsync(one.parts(relationOf(name), undefined))).flat()).toHaveLength(3);
  const later = await opened(placeOf(store));
  expect((await Array.fromAsync(later.parts(relationOf('leads'), undefined))).flat()).toHaveLength(7);
});

it('long rows are read a few at a time from a server, and every row once', async () => {
  const store = new PostgresStore();
  const on = await LedgerUnderTest.with(store.open);
  const long = 'x'.repeat(30_000);
  await on.list(
    ids(1, 600).map((id) =>
      listedAs(BigInt(id), aLead({ id, all_details_one_liner: id % 3 === 0 ? long : '' }), id),
    ),
  );
  const tables = await opened(placeOf(store));
  const parts = await Array.fromAsync(tables.parts(relationOf('leads'), undefined));
  expect(parts.length).toBeGreaterThan(2);
  expect(parts.flat().map(([, id]) => id)).toEqual(ids(1, 600).map(BigInt));
});

/** Runs an export of new rows in a process of its own, as a daemon does. */
function runOnSchedule(ledger: TablesPlace, folder: string, last?: Date): Promise<ExportResult> {
  const target = { type: 'directory', directory: join(folder, 'out') } as const;
  const config = { name: 'nightly', tables: ['leads', 'polls'], format: 'csv', rows: 'new' } as const;
  const run = { ledger, at: EXPORTED_AT, exportedAt: EXPORTED_AT, last, first: true };
  const parts = { folder: join(folder, 'exports'), niceness: 0 };
  return runExport({ ...config, schedule: { everyMs: HOUR }, keep: undefined, target }, run, parts, never);
}

it('a scheduled export reads a server, and says why it cannot', async () => {
  const store = new PostgresStore();
  const on = await LedgerUnderTest.with(store.open);
  await on.list(ids(1, 3));
  on.clock.jump(2 * HOUR);
  const last = on.clock.now();
  await on.list(ids(1, 5));
  const made = await runOnSchedule(placeOf(store), tempDir(), last);
  expect(made).toMatchObject({ kind: 'made', rows: 2 + 1 });
  const wrong = { ...placeOf(store), schema: 'no_such_ledger' };
  expect(await runOnSchedule(wrong, tempDir())).toMatchObject({
    kind: 'failed',
    message: expect.stringContaining('no ledger in the schema no_such_ledger'),
  });
});

it('the next export of new rows goes by the clock of the server, also if the clock of the machine shows another time', async () => {
  const store = new PostgresStore();
  const on = await LedgerUnderTest.with(store.open);
  const states = exportStateFiles(disk, tempDir());
  const target = { type: 'directory', directory: join(tempDir(), 'out') } as const;
  const config = { name: 'lake', tables: ['leads'], format: 'csv', rows: 'new', target } as const;
  const clock = {
    now: () => on.clock.in(5 * HOUR),
    monotonicMs: () => on.clock.monotonicMs(),
    sleep: on.clock.sleep.bind(on.clock),
  };
  const parts = { states, ledger: placeOf(store), clock, random: () => 0.5, niceness: 0 };
  const run = async () => {
    const export_ = { ...config, schedule: { everyMs: HOUR }, keep: undefined };
    const { result } = await exportOnce(export_, parts, never);
    return result.kind === 'made' ? result.rows : result;
  };
  await on.list(ids(1, 3));
  on.clock.jump(2 * HOUR);
  await on.ledger.status(); // tells the server the time
  expect(await run()).toBe(3);
  on.clock.jump(HOUR / 2);
  await on.list(ids(1, 5));
  expect(await run()).toBe(2);
  on.clock.setBack(HOUR / 4);
  expect(await run()).toBe(2);
  on.clock.jump(60_000);
  // The server was set back, and the ledger does not know it yet.
  await store.query('UPDATE _test_clock SET ms = ms - 3600000');
  expect(await run()).toBe(5);
});

it('the server sends no more leads than the export can take, also when large ones follow small ones', async () => {
  const store = new PostgresStore();
  const on = await LedgerUnderTest.with(store.open);
  const long = 'x'.repeat(200_000);
  const leads = ids(1, 200).map((id) =>
    listedAs(BigInt(id), aLead({ id, all_details_one_liner: id > 60 ? long : '' }), id),
  );
  await on.list(leads);
  const tables = await opened(placeOf(store));
  const parts = tables.parts(relationOf('leads'), undefined);
  const first = await parts.next();
  // A server whose client only cannot keep up waits for moments.
  let seen = 0;
  await until('the server waits until the export reads on', async () => {
    const waiting = await store.query(
      "SELECT 1 FROM pg_stat_activity JOIN pg_locks USING (pid) WHERE relation = '_ledger'::regclass AND wait_event = 'ClientWrite'",
    );
    seen = waiting.length > 0 ? seen + 1 : 0;
    return seen >= 50;
  });
  const rest = await Array.fromAsync(parts);
  expect([first.value, ...rest].flat()).toHaveLength(200);
});

it('an export that loses its server says so', async () => {
  const store = new PostgresStore();
  const on = await LedgerUnderTest.with(store.open);
  await on.list([1]);
  const tables = await opened(placeOf(store));
  const ended = await store.query(
    "SELECT pg_terminate_backend(pid, 10000) AS ended FROM pg_locks WHERE relation = '_ledger'::regclass AND pid <> pg_backend_pid()",
  );
  expect(ended).toEqual([{ ended: true }]);
  const rows = tables.parts(relationOf('leads'), undefined);
  await expect(rows.next()).rejects.toMatchObject({ name: 'LedgerError', code: 'away' });
});

function relationOf(name: string) {
  const found = relations.find((one) => one.name === name);
  if (!found) throw new Error(`there is no ${name}`);
  return found;
}
