import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { describe, expect, test } from 'vitest';
import type { MappedValue } from '../../../src/leads/mapped-fields.ts';
import { disk } from '../../../src/platform/files/file-system.ts';
import type { StoredLead } from '../../../src/sinks/sink.ts';
import { SinkUnavailable } from '../../../src/sinks/sink-unavailable.ts';
import { parquetRows, parquetShape } from '../../exports/read-parquet.ts';
import { tempDir } from '../../support/files/temp-dir.ts';
import { aBatch, aDelivery } from '../../support/scene/a-delivery.ts';
import { aLead } from '../../support/scene/a-lead.ts';
import { openParquet } from './open-parquet.ts';

const README = join(import.meta.dirname, '../../../src/sinks/parquet/README.md');
const NEVER = new AbortController().signal;
const NAME = 'day=2026-11-20/leads-20261120T100001.000Z-b0000000000000001.parquet';

describe('a Parquet file', () => {
  test('is named after the day and the number of its batch, and has typed columns', async () => {
    const directory = tempDir();
    const raw = aLead({ created_at: '2026-11-20T20:29:30,5+10:30' });
    await openParquet(directory).deliver(aBatch([aDelivery({ raw })]), NEVER);
    expect(readdirSync(directory, { recursive: true })).toContain(NAME);
    expect(parquetShape(join(directory, NAME)).types).toMatchObject({
      id: 'INT64',
      created_at: 'TIMESTAMP_MILLIS',
      _leadsync_replay: 'BOOLEAN',
      _leadsync_delivery_id: 'UTF8',
    });
    const [row] = await parquetRows(join(directory, NAME));
    expect(row).toMatchObject({
      id: 42n,
      created_at: new Date('2026-11-20T09:59:30.500Z'),
      _leadsync_raw: raw,
    });
    expect(statSync(join(directory, NAME)).mode & 0o007).toBe(0);
  });

  test('is identical, and is not written again, if its batch is delivered again', async () => {
    const [directory, other] = [tempDir(), tempDir()];
    await openParquet(directory).deliver(aBatch(2), NEVER);
    const before = statSync(join(directory, NAME));
    await openParquet(directory).deliver(aBatch(2), NEVER);
    expect(statSync(join(directory, NAME)).ino).toBe(before.ino);
    await openParquet(other).deliver(aBatch(2), NEVER);
    expect(readFileSync(join(other, NAME)).equals(readFileSync(join(directory, NAME)))).toBe(true);
  });

  test.each(['create', 'rename', 'syncFolder'] as const)(
    'is never visible in part if %s fails',
    async (step) => {
      const directory = tempDir();
      const broken = { ...disk, [step]: () => Promise.reject(Object.assign(new Error(), { code: 'EIO' })) };
      const failed = openParquet(directory, broken).deliver(aBatch(2), NEVER);
      await expect(failed).rejects.toBeInstanceOf(SinkUnavailable);
      expect(readdirSync(directory, { recursive: true }).join()).not.toMatch(/parquet/);
      await openParquet(directory).deliver(aBatch(2), NEVER);
      expect(await parquetRows(join(directory, NAME))).toHaveLength(2);
    },
  );

  test('is not written below a mount point that has vanished', async () => {
    const directory = join(tempDir(), 'drop');
    const sink = openParquet(directory);
    await sink.deliver(aBatch(1), NEVER);
    rmSync(directory, { recursive: true });
    await expect(sink.deliver(aBatch(1), NEVER)).rejects.toThrow(`The folder ${directory} is gone (ENOENT).`);
  });

  test('is preceded by the removal of the files of a killed process, even of other days', async () => {
    const directory = tempDir();
    const left = join(directory, 'day=2026-11-01', '.leads-a.parquet.0123456789abcdef.tmp');
    const mine = join(directory, 'day=2026-11-01', 'notes.tmp');
    mkdirSync(join(directory, 'day=2026-11-01'));
    for (const path of [left, mine]) {
      writeFileSync(path, '');
      utimesSync(path, 0, 0);
    }
    await openParquet(directory).deliver(aBatch(1), NEVER);
    expect(readdirSync(join(directory, 'day=2026-11-01'))).toEqual(['notes.tmp']);
  });
});

test('the query of the README returns the newest content of each lead, even after a new ledger', async () => {
  const directory = tempDir();
  const sink = openParquet(directory);
  const content = (name: string, version: number, at: string) =>
    aDelivery({ raw: aLead({ client_name: name }), version, changedAt: new Date(at) });
  await sink.deliver(aBatch([content('of the ledger before', 7, '2026-11-20T10:00:00Z')]), NEVER);
  const anew = [
    content('made anew', 1, '2026-11-21T10:00:00Z'),
    content('newest', 2, '2026-11-21T10:00:00Z'),
  ];
  await sink.deliver({ ...aBatch(anew), id: '2' }, NEVER);
  const sql = /```sql\n([^`]+)```/.exec(readFileSync(README, 'utf8'))?.[1] ?? '';
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' });
  const duck = await instance.connect();
  const rows = await duck.runAndReadAll(sql.replace("'lake/", `'${directory}/`));
  expect(rows.getRowObjects().map(({ client_name }) => client_name)).toEqual(['newest']);
  duck.closeSync();
  instance.closeSync();
});

describe('a Parquet file of mapped leads', () => {
  const columns = [
    { name: 'name', type: 'text' },
    { name: 'rooms', type: 'bigint' },
    { name: 'price', type: 'double' },
    { name: 'urgent', type: 'boolean' },
    { name: 'at', type: 'time' },
    { name: 'tags', type: 'json' },
  ] as const;
  const fields = new Map<string, MappedValue>([
    ['name', 'Ana'],
    ['rooms', 9_223_372_036_854_775_807n],
    ['price', 1.5],
    ['urgent', true],
    ['at', '2026-03-02T09:15:00.000Z'],
    ['tags', ['a', 1n]],
  ]);

  test('has a column with its type for each field, and can be read back', async () => {
    const directory = tempDir();
    const sink = openParquet(directory);
    const empty = aDelivery({ leadId: 2n, fields: new Map([['name', null]]) });
    await sink.deliver(aBatch([aDelivery({ leadId: 1n, fields }), empty], { columns }), NEVER);
    expect(parquetShape(join(directory, NAME)).types).toMatchObject({
      name: 'UTF8',
      rooms: 'INT64',
      price: 'DOUBLE',
      urgent: 'BOOLEAN',
      at: 'TIMESTAMP_MILLIS',
      tags: 'UTF8',
      _leadsync_lead_id: 'INT64',
    });
    const rows = await parquetRows(join(directory, NAME));
    expect(rows[0]).toMatchObject({
      name: 'Ana',
      rooms: 9_223_372_036_854_775_807n,
      price: 1.5,
      urgent: true,
      at: new Date('2026-03-02T09:15:00.000Z'),
      tags: '["a",1]',
      _leadsync_source: 'main',
    });
    expect(rows[1]).toMatchObject({ name: null, rooms: null, _leadsync_lead_id: 2n });
    const stored: StoredLead[] = [];
    for await (const lead of sink.storedLeads(NEVER)) stored.push(lead);
    expect(stored.map(({ source, leadId, version }) => ({ source, leadId, version }))).toEqual([
      { source: 'main', leadId: 1n, version: 1 },
      { source: 'main', leadId: 2n, version: 1 },
    ]);
    expect(sink.preview(aBatch([aDelivery({ leadId: 1n, fields })], { columns }))[0]?.content).toMatch(
      /^\{"name":"Ana","rooms":9223372036854775807,/,
    );
  });

  test('of two mappings has the columns of both, and text where their types differ', async () => {
    const directory = tempDir();
    const former = aDelivery({
      leadId: 2n,
      fields: new Map<string, MappedValue>([
        ['rooms', 'many'],
        ['old', 5n],
      ]),
    });
    await openParquet(directory).deliver(
      aBatch([aDelivery({ leadId: 1n, fields }), former], { columns }),
      NEVER,
    );
    const rows = await parquetRows(join(directory, NAME));
    expect(rows[0]).toMatchObject({ rooms: '9223372036854775807', old: null });
    expect(rows[1]).toMatchObject({ rooms: 'many', old: '5' });
  });
});
