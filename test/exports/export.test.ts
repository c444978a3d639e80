import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { parse } from 'csv-parse/sync';
import { describe, expect, it } from 'vitest';
import { relations } from '../../src/catalog/catalog.ts';
import type { Relation } from '../../src/catalog/relation.ts';
import { type ExportRequest, exportTables } from '../../src/exports/files/export-tables.ts';
import { exportedRows } from '../../src/exports/files/read-export.ts';
import { LedgerExtract } from '../../src/ledger/extraction/extracting.ts';
import { version } from '../../src/platform/process/version.ts';
import { oddLeads } from '../catalog/odd-leads.ts';
import { Install } from '../cli/an-install.ts';
import { aListedLead } from '../support/scene/a-lead.ts';
import { parquetRows, parquetShape } from './read-parquet.ts';

const MANY = 9_001;

const leads = relations.find(({ name }) => name === 'leads') as Relation;

async function withOddLeads(): Promise<Install> {
  const install = new Install();
  await install.recorded(oddLeads());
  return install;
}

/** Three answers each: no part of a round number of them ends with a lead. */
async function withManyLeads(): Promise<Install> {
  const install = new Install();
  const answers = ['a', 'b', 'c'].map((slug) => ({ question: `${slug}?`, slug, answer: slug }));
  const lead = (_: unknown, at: number) => aListedLead({ id: at + 1, service_question_answers: answers }, at);
  await install.recorded(Array.from({ length: MANY }, lead));
  return install;
}

function ledgerOf(install: Install): string {
  return join(install.folder, 'data', 'ledger.db');
}

/** What the ledger itself says. */
function asked(file: string, sql: string): Record<string, unknown>[] {
  const db = new Database(file, { readonly: true });
  try {
    return db.prepare(sql).safeIntegers().all() as Record<string, unknown>[];
  } finally {
    db.close();
  }
}

describe('leadsync export', () => {
  it('writes leads as Parquet, in types that common readers support', async () => {
    const install = await withOddLeads();
    const output = join(install.folder, 'leads.parquet');
    const { stdout, code } = await install.run(['export', output]);
    expect([code, stdout]).toEqual([0, `leads  10 rows\nWrote ${output}\n`]);
    expect(parquetShape(output).types).toMatchObject({
      id: 'INT64',
      client_name: 'UTF8',
      created_at: 'TIMESTAMP_MILLIS',
      answers: 'UTF8',
      _leadsync_version: 'INT32',
      _leadsync_replaced: 'BOOLEAN',
    });
    const known = asked(ledgerOf(install), 'SELECT * FROM leads ORDER BY source, id');
    const rows = (await parquetRows(output)).map((row) => ({
      ...row,
      created_at: (row['created_at'] as Date).toISOString(),
      _leadsync_replaced: row['_leadsync_replaced'] ? 1n : 0n,
    }));
    const chosen = ['id', 'client_name', 'created_at', 'answers', '_leadsync_raw', '_leadsync_replaced'];
    const pick = (row: Record<string, unknown>) => chosen.map((name) => row[name]);
    // The raw text has half a surrogate pair, escaped; a file in UTF-8 can hold it so.
    expect(rows.map(pick)).toEqual(known.map(pick));
    expect(rows.map((row) => (row as Record<string, unknown>)['id'])).toContain(2n ** 63n - 1n);
  });

  it('writes CSV that distinguishes null from an empty text', async () => {
    const install = await withOddLeads();
    const output = join(install.folder, 'leads.csv');
    await install.run(['export', output]);
    const text = readFileSync(output, 'utf8');
    const rows = parse(text, { columns: true }) as Record<string, string>[];
    const known = asked(ledgerOf(install), 'SELECT * FROM leads ORDER BY source, id');
    expect(rows.map((row) => [row['id'], row['client_name'], row['_leadsync_raw']])).toEqual(
      known.map((row) => [String(row['id']), row['client_name'], row['_leadsync_raw']]),
    );
    expect(text).toContain(',"",'); // lead 4 has an empty email address
  });

  it('writes JSON lines with the answers as JSON', async () => {
    const install = await withOddLeads();
    const output = join(install.folder, 'leads.jsonl');
    await install.run(['export', output]);
    const lines = readFileSync(output, 'utf8').trimEnd().split('\n');
    expect(lines[7]).toContain('"id":10,');
    expect(lines.at(-1)).toContain(`"id":${2n ** 63n - 1n},`);
    const [, , , four, , eight] = lines.map((line) => JSON.parse(line));
    expect(four).toMatchObject({ id: 4, client_address: null, _leadsync_replaced: false });
    expect(eight.answers.rooms).toEqual(['kitchen', 'ba\ufffdth']);
    expect(JSON.parse(eight._leadsync_raw).id).toBe(8);
  });

  it('writes all tables and views as tables of one SQLite file', async () => {
    const install = await withOddLeads();
    const output = join(install.folder, 'store.sqlite');
    const { code } = await install.run(['export', '--all', output]);
    expect(code).toBe(0);
    for (const { name, columns } of relations) {
      // An age is that of the moment of the question.
      const names = columns.map((column) => column.name).filter((column) => column !== 'age_seconds');
      const sql = `SELECT ${names.map((column) => `"${column}"`).join(', ')} FROM ${name} ORDER BY 1, 2, 3`;
      expect(asked(output, sql)).toEqual(asked(ledgerOf(install), sql));
    }
    expect(asked(output, "SELECT name FROM sqlite_schema WHERE name LIKE '\\_%' ESCAPE '\\'")).toEqual([
      { name: '_comments' },
    ]);
  });

  it('writes a folder with a file for each table', async () => {
    const install = await withOddLeads();
    const output = join(install.folder, 'some');
    await install.run(['export', output, '--table', 'leads', '--table', 'v_freshness']);
    expect(readdirSync(output).sort()).toEqual(['leads.parquet', 'v_freshness.parquet']);
    expect(statSync(join(output, 'leads.parquet')).mode & 0o077).toBe(0);
  });

  it('writes a folder for each day on which leads were created', async () => {
    const install = await withOddLeads();
    const output = join(install.folder, 'days');
    await install.run(['export', output, '--partition', 'day']);
    const days = readdirSync(join(output, 'leads')).sort();
    expect(days[0]).toBe('day=1969-12-31');
    const rows = await Promise.all(
      days.map((day) => parquetRows(join(output, 'leads', day, 'leads.parquet'))),
    );
    expect(rows.flat()).toHaveLength(10);
    for (const [at, day] of days.entries())
      for (const { created_at } of rows[at] ?? [])
        expect(`day=${(created_at as Date).toISOString().slice(0, 10)}`).toBe(day);
  });

  it.each(['parquet', 'csv', 'jsonl'])(
    'writes the rows of each of %s files of days in order, in whatever order the days come',
    async (format) => {
      const install = new Install();
      const days = ['2026-11-01', '2026-11-02', '2026-11-03'];
      const lead = (_: unknown, at: number) =>
        aListedLead({ id: at + 1, created_at: `${days[at % days.length]}T12:00:00.000Z` }, at);
      await install.recorded(Array.from({ length: MANY }, lead));
      const folder = join(install.folder, 'days', 'leads');
      const { code, stdout } = await install.run([
        'export',
        '--partition',
        'day',
        '--format',
        format,
        dirname(folder),
      ]);
      expect([code, stdout]).toEqual([0, expect.stringMatching(new RegExp(`^leads +${MANY} rows$`, 'm'))]);
      expect(readdirSync(folder).sort()).toEqual(days.map((day) => `day=${day}`));
      for (const [first, day] of days.entries()) {
        const ids: number[] = [];
        for await (const { id } of exportedRows(join(folder, `day=${day}`, `leads.${format}`), () => [
          'id',
        ])) {
          ids.push(Number(id));
        }
        expect(ids).toEqual(
          Array.from({ length: MANY / 3 + (first < MANY % 3 ? 1 : 0) }, (_, at) => first + 1 + 3 * at),
        );
      }
    },
  );

  it('with --since, writes only rows that are new or changed since then', async () => {
    const install = await withOddLeads();
    install.clock.jump(60_000);
    const others = oddLeads().filter(({ id }) => id !== 7n);
    const changed = aListedLead({ id: 7, client_name: 'Changed' });
    await install.recorded([...others, changed, aListedLead({ id: 100 })]);
    const output = join(install.folder, 'new');
    const { stderr } = await install.run([
      ...['export', '--since', '30s', '--table', 'leads', '--table', 'lead_answers'],
      ...['--table', 'v_leads_no_pii', '--table', 'polls', '--table', 'v_services', output],
    ]);
    expect(stderr).toContain('v_services was exported completely');
    const ids = async (name: string, column: string) => {
      const rows = await parquetRows(join(output, `${name}.parquet`));
      return [...new Set(rows.map((row) => row[column]))];
    };
    expect(await ids('leads', 'id')).toEqual([7n, 100n]);
    expect(await ids('lead_answers', 'lead_id')).toEqual([7n, 100n]);
    expect(await ids('v_leads_no_pii', 'id')).toEqual([7n, 100n]);
    expect(await ids('polls', 'poll_id')).toEqual([2n]);
  });

  it('writes every row once, however many parts they are read in', async () => {
    const install = await withManyLeads();
    const output = join(install.folder, 'many');
    await install.run(['export', '--all', output]);
    expect(parquetShape(join(output, 'leads.parquet')).groups).toBeGreaterThan(2);
    const { groups } = parquetShape(join(output, 'lead_answers.parquet'));
    expect([groups > 1, groups < 10]).toEqual([true, true]); // readers lose time where groups of small rows are small
    for (const [name, columns] of [
      ['leads', ['id']],
      ['lead_answers', ['lead_id', 'position']],
      ['deliveries', ['delivery_id']],
      ['v_undelivered', ['delivery_id']],
    ] as const) {
      const rows = await parquetRows(join(output, `${name}.parquet`));
      const keys = new Set(rows.map((row) => columns.map((column) => row[column]).join()));
      const [known] = asked(ledgerOf(install), `SELECT count(*) AS n FROM ${name}`);
      expect([rows.length, keys.size]).toEqual([Number(known?.['n']), rows.length]);
    }
  });

  it('writes the table, the ledger and the time into the metadata of a Parquet file', async () => {
    const install = await withOddLeads();
    const output = join(install.folder, 'leads.parquet');
    await install.run(['export', output]);
    const [ledger] = asked(
      ledgerOf(install),
      'SELECT id, user_version AS schema FROM _ledger, pragma_user_version',
    );
    expect(parquetShape(output).about).toEqual({
      'leadsync.version': version,
      'leadsync.table': 'leads',
      'leadsync.ledger': ledger?.['id'],
      'leadsync.schema': String(ledger?.['schema']),
      'leadsync.as_of': install.clock.now().toISOString(),
    });
    const since = join(install.folder, 'since.parquet');
    await install.run(['export', '--since', '2026-01-01', since]);
    expect(parquetShape(since).about).toMatchObject({ 'leadsync.since': '2026-01-01T00:00:00.000Z' });
  });

  it('lets another process truncate the ledger’s write-ahead log between two parts', async () => {
    const install = await withManyLeads();
    const extract = new LedgerExtract(ledgerOf(install));
    const parts = extract.parts(leads, undefined);
    expect((await parts.next()).value).not.toHaveLength(MANY);
    await install.recorded([aListedLead({ id: MANY + 1 })]);
    const daemon = new Database(ledgerOf(install));
    expect(daemon.pragma('wal_checkpoint(TRUNCATE)')).toMatchObject([{ busy: 0 }]);
    daemon.close();
    expect((await Array.fromAsync(parts)).at(-1)?.at(-1)?.[1]).toBe(BigInt(MANY + 1));
    await extract.close();
  });

  it.each(['file', 'days'] as const)('leaves no file behind if it is stopped (%s)', async (layout) => {
    const install = await withManyLeads();
    const folder = join(install.folder, 'out');
    mkdirSync(folder);
    const stop = new AbortController();
    const request: ExportRequest = {
      ledger: { kind: 'file', file: ledgerOf(install) },
      output: join(folder, 'leads.parquet'),
      format: 'parquet',
      relations: [leads],
      layout,
      since: undefined,
      exportedAt: new Date(0),
    };
    const seen: string[][] = [];
    const stopLater = (_table: string, rows: number) => {
      seen.push(readdirSync(folder));
      if (rows > 0) stop.abort(new Error('stopped'));
    };
    await expect(exportTables(request, stopLater, stop.signal)).rejects.toThrow('stopped');
    expect(seen.at(-1)?.join()).toMatch(/^\.leads\.parquet\.[0-9a-f]{16}\.tmp$/);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('does not wait for a part in progress when it is stopped', async () => {
    const install = await withManyLeads();
    const stop = new AbortController();
    const request: ExportRequest = {
      ledger: { kind: 'file', file: ledgerOf(install) },
      output: join(install.folder, 'leads.parquet'),
      format: 'parquet',
      relations: [leads],
      layout: 'file',
      since: undefined,
      exportedAt: new Date(0),
    };
    const written: number[] = [];
    const stopAtOnce = (_table: string, rows: number) => {
      written.push(rows);
      stop.abort(new Error('stopped'));
    };
    await expect(exportTables(request, stopAtOnce, stop.signal)).rejects.toThrow('stopped');
    expect(written).toEqual([0]);
  });

  it('writes the rows in order, with any number of threads', async () => {
    const install = await withManyLeads();
    const output = join(install.folder, 'leads.parquet');
    await install.run(['export', output]);
    const ids = (await parquetRows(output)).map((row) => row['id']);
    expect(ids).toEqual(Array.from({ length: MANY }, (_, at) => BigInt(at + 1)));
  });

  it('ends with the error of a thread, and leaves no file behind', async () => {
    const install = await withManyLeads();
    const [{ page } = {}] = asked(
      ledgerOf(install),
      "SELECT max(pageno) AS page FROM dbstat WHERE name = '_versions' AND pagetype = 'leaf'",
    );
    const file = openSync(ledgerOf(install), 'r+');
    writeSync(file, Buffer.alloc(4096, 0xff), 0, 4096, (Number(page) - 1) * 4096);
    closeSync(file);
    const folder = join(install.folder, 'out');
    mkdirSync(folder);
    const { code, stderr } = await install.run(['export', join(folder, 'leads.csv')]);
    expect([code, stderr]).toEqual([1, expect.stringContaining('damaged')]);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('does not change an existing file', async () => {
    const install = await withOddLeads();
    const { code, stderr } = await install.run(['export', '--format', 'csv', install.configFile]);
    expect([code, stderr]).toEqual([
      1,
      `${install.configFile} already exists and was left as it is.\nName another output.\n`,
    ]);
  });

  it.each([
    [['--table', 'leds', 'a.csv'], 2, 'did you mean "leads"'],
    [['a.xlsx'], 2, 'The format of .xlsx is unknown.'],
    [[''], 2, 'No output was named.'],
    [['-'], 2, 'No output was named.'],
    [['--partition', 'day', 'a.sqlite'], 2, 'An SQLite file has no partitions.'],
    [['--all', '--table', 'leads', 'a'], 2, 'Remove one of the two.'],
    [['--since', 'yesterday', 'a.csv'], 2, 'Write a date'],
    [['none/a.csv'], 1, 'Create its parent folder.'],
    [[], 2, 'Name a file or folder'],
  ])('prints what is wrong with %j', async (args, expected, words) => {
    const install = await withOddLeads();
    const { code, stderr } = await install.run(['export', ...args]);
    expect(stderr).toContain(words);
    expect(code).toBe(expected);
    expect(existsSync('a.csv')).toBe(false);
  });

  it('says that there is no ledger yet', async () => {
    const { code, stderr } = await new Install().run(['export', 'a.csv']);
    expect([code, stderr.split('\n')[1]]).toEqual([1, expect.stringContaining('Check data_dir')]);
  });
});
