import pg from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { mirroredTable } from '../../../../src/catalog/mirrored-tables.ts';
import type { HistoryRow, StoredValue } from '../../../../src/leads/mirrored-history.ts';
import { writeRows } from '../../../../src/sinks/postgres/mirror/stored-rows.ts';
import { ids } from '../../../ledger/ledger-under-test.ts';
import { openPostgres, startDatabase } from '../database.ts';

const NEVER = new AbortController().signal;
const AT = String(Date.parse('2026-11-20T10:00:00.000Z'));
const PART = 500;
/** A row finds itself, the version before it, and the one that ends that; a tiny table may be read in another way. */
const READS_PER_ROW = 4;

it('how many rows the mirror reads for a part does not grow with the table', async () => {
  const tables = await emptyTables();
  const filled = { lead_versions: [] as number[], deliveries: [] as number[] };
  for (const part of ids(0, 7)) {
    const numbers = ids(part * PART + 1, (part + 1) * PART);
    filled.lead_versions.push(
      await tables.write(
        'lead_versions',
        numbers.map((no) => aVersion(no, no, 1)),
      ),
    );
    filled.deliveries.push(await tables.write('deliveries', numbers.map(aDelivery)));
  }
  const changed = ids(1, PART).map((lead) => aVersion(8 * PART + lead, lead, 2));
  filled.lead_versions.push(await tables.write('lead_versions', changed));
  expect(Math.max(...filled.lead_versions)).toBeLessThanOrEqual(READS_PER_ROW * PART);
  expect(Math.max(...filled.deliveries)).toBeLessThanOrEqual(READS_PER_ROW * PART);
  expect(await tables.current()).toEqual({ current: String(8 * PART), closed: String(PART) });
});

/** The mirror's tables, new and without statistics: nothing analyzes them. */
async function emptyTables() {
  const { url, schema, query, close } = startDatabase();
  const sink = openPostgres({ url, schema });
  const client = new pg.Client({ connectionString: url });
  onTestFinished(async () => {
    await client.end();
    await sink.close();
    await close();
  });
  await sink.mirror?.lastNumber('here', 'lead_versions', NEVER); // makes the schema
  for (const table of ['_versions', '_deliveries'])
    await query(`ALTER TABLE ${table} SET (autovacuum_enabled = false)`);
  await client.connect();
  const rowsRead = async (name: string): Promise<number> => {
    const table = name === 'deliveries' ? '_deliveries' : '_versions';
    const { rows } = await client.query(
      'SELECT seq_tup_read + idx_tup_fetch AS n FROM pg_stat_xact_user_tables WHERE schemaname = $1 AND relname = $2',
      [schema, table],
    );
    return Number(rows[0].n);
  };
  return {
    /** Writes rows in one transaction. Gives how many rows of the table that transaction has read. */
    write: async (table: string, rows: readonly HistoryRow[]): Promise<number> => {
      await client.query('BEGIN');
      const before = await rowsRead(table);
      await writeRows(client, schema, table, 'here', rows);
      const read = (await rowsRead(table)) - before;
      await client.query('COMMIT');
      return read;
    },
    current: async () =>
      (
        await query(
          'SELECT count(*) FILTER (WHERE is_current) AS current, count(*) FILTER (WHERE valid_to IS NOT NULL) AS closed FROM lead_versions',
        )
      )[0],
  };
}

function aVersion(no: number, lead: number, version: number): HistoryRow {
  return aRow('lead_versions', no, {
    source: 'main',
    lead_id: String(lead),
    version: String(version),
    valid_from: AT,
    is_current: '1',
    poll_id: '1',
    _leadsync_hash: 'a',
    raw: '{}',
    _leadsync_replaced: '0',
  });
}

function aDelivery(no: number): HistoryRow {
  return aRow('deliveries', no, {
    source: 'main',
    lead_id: String(no),
    lead_version: '1',
    sink: 'crm',
    named: 'crm',
    content: '0123abcd',
    event: 'created',
    state: 'delivered',
    attempts: '1',
    owed_at: AT,
  });
}

function aRow(table: string, no: number, values: Readonly<Record<string, StoredValue>>): HistoryRow {
  const of = { ...values, _leadsync_no: String(no) } as Record<string, StoredValue>;
  return { no, values: mirroredTable(table).columns.map(({ name }) => of[name] ?? null) };
}
