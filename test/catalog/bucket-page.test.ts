import { cpSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { describe, expect, test } from 'vitest';
import { columnsOfLeads } from '../../src/sinks/parquet/rows.ts';
import { aStorage } from '../exports/storage.ts';
import { openInBucket } from '../sinks/drop/open-in-bucket.ts';
import { tempDir } from '../support/files/temp-dir.ts';
import { aBatch, aDelivery } from '../support/scene/a-delivery.ts';
import { aLead } from '../support/scene/a-lead.ts';

const page = readFileSync(new URL('../../docs/bucket.md', import.meta.url), 'utf8');
/** The address of the folder in the statements of the page. */
const FOLDER = 's3://acme-leads/leadsync/';

/** Returns the blocks of SQL in a section of the page. */
function sqlOf(section: string): string[] {
  const text = page.split(/^## /m).find((part) => part.startsWith(`${section}\n`)) ?? '';
  return [...text.matchAll(/```sql\n([^`]+(?:`\w+`[^`]+)*)```/g)].map(([, sql = '']) => sql);
}

describe('docs/bucket.md', () => {
  // DuckDB loads its client for S3 from the network. So the objects are copied into a folder, whose path stands for their address.
  test('shows in DuckDB the newest content of each lead, from the objects that a sink has written', async () => {
    const storage = await aStorage();
    const sink = openInBucket('parquet', storage, { to: 's3://exports/leadsync' });
    const content = (name: string, leadId: bigint, version: number, at: string, source = 'main') =>
      aDelivery({ leadId, source, raw: aLead({ client_name: name }), version, changedAt: new Date(at) });
    const batches = [
      [
        content('former ledger', 1n, 7, '2026-11-20T10:00:00Z'),
        content('of another lead', 2n, 1, '2026-11-20T10:00:00Z'),
      ],
      [content('older', 1n, 1, '2026-11-21T10:00:00Z'), content('newest', 1n, 2, '2026-11-21T10:00:00Z')],
      [
        content('newest', 1n, 2, '2026-11-21T10:00:00Z'),
        content('of another source', 1n, 1, '2026-11-22T10:00:00Z', 'other'),
      ],
    ];
    for (const [at, deliveries] of batches.entries()) {
      const createdAt = new Date(Date.UTC(2026, 10, 20 + at));
      await sink.deliver({ ...aBatch(deliveries), id: `b${at}`, createdAt }, new AbortController().signal);
    }
    await sink.test(aBatch(1), new AbortController().signal);
    const folder = tempDir();
    for (const key of storage.keys())
      cpSync(storage.fileOf(key), join(folder, key), { recursive: true, force: true });
    expect(new Set(storage.keys().map(dirname))).toContain('leadsync/day=2026-11-22');

    const [, view = '', query = ''] = sqlOf('DuckDB');
    expect(view).toContain(FOLDER);
    const instance = await DuckDBInstance.create(':memory:', { threads: '1' });
    const duck = await instance.connect();
    await duck.run(view.replace(FOLDER, `${folder}/leadsync/`));
    const leads = await duck.runAndReadAll('SELECT client_name, day::text AS day FROM leads ORDER BY ALL');
    const counted = await duck.runAndReadAll(query);
    duck.closeSync();
    instance.closeSync();
    expect(leads.getRowObjectsJson()).toEqual([
      { client_name: 'newest', day: expect.stringMatching(/^2026-11-2[12]$/) },
      { client_name: 'of another lead', day: '2026-11-20' },
      { client_name: 'of another source', day: '2026-11-22' },
    ]);
    expect(counted.getRowObjectsJson()).toMatchObject([{ service_slug: 'house-cleaning', leads: '3' }]);
  });

  test('declares in Athena every column of a file, with its type', () => {
    const types = new Map<string, string>([
      ...(['text', 'json', 'jsonb'] as const).map((type): [string, string] => [type, 'string']),
      ['time', 'timestamp'],
      ['integer', 'int'],
    ]);
    const columns = columnsOfLeads.map(({ name, type }) => `\`${name}\` ${types.get(type) ?? type}`);
    const [table = ''] = sqlOf('Athena');
    expect(/\(\n([^)]*)\n\)/.exec(table)?.[1]?.trim().split(/,\s+/)).toEqual(columns);
  });

  test.each(['DuckDB', 'ClickHouse', 'BigQuery', 'Snowflake', 'Athena'])(
    'chooses the newest content in %s by the time of the change, then by the version',
    (section) => {
      expect(sqlOf(section).join('\n').replaceAll('"', '')).toMatch(
        /ORDER BY _leadsync_changed_at DESC, _leadsync_version DESC/,
      );
    },
  );
});
