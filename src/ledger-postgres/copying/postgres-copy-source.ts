import type { PoolClient } from 'pg';
import type {
  CopiedRow,
  CopiedTable,
  CopySource,
  LedgerFacts,
  Moved,
  TableProgress,
} from '../../ledger/contract/ledger-copy.ts';
import { COPIED_TABLES, COUNTED_TABLES } from '../../ledger/rules/copying/copied-tables.ts';
import { Part } from '../../ledger/rules/extraction/row-parts.ts';
import { markMoved, movedTo } from '../database/copy-marks.ts';
import { type IsDead, type NeededAlone, requireNoProcess } from '../database/live-processes.ts';
import { requireShape } from '../database/migrating.ts';
import { PostgresAccess, type PostgresPlace } from '../database/postgres-access.ts';
import { streamRows } from '../streamed-rows.ts';
import { digestOf, rowsQuery } from './postgres-rows.ts';

/** Opens the ledger of a schema to copy it. @throws LedgerError with the code `held` if a process works on it that is not known to be dead */
export async function openPostgresSource(place: PostgresPlace, isDead: IsDead): Promise<CopySource> {
  const access = await PostgresAccess.open({ ...place, connections: 1 });
  const { where } = access;
  const { schema } = place;
  const alone: NeededAlone = { where, schema, why: 'is to be copied', isDead };
  try {
    const { id } = await access.prepare(async (client) => {
      const found = await requireShape(client, where, schema);
      await requireNoProcess(client, alone);
      return found;
    });
    return new PostgresCopySource(access, alone, id);
  } catch (error) {
    await access.close();
    throw error;
  }
}

/** Takes the mark away that the ledger of a schema was moved. Returns whether it had the mark. @throws LedgerError */
export async function liftMove(place: PostgresPlace): Promise<boolean> {
  const access = await PostgresAccess.open({ ...place, connections: 1 });
  try {
    return await access.prepare((client) => markMoved(client, place.schema, undefined));
  } finally {
    await access.close();
  }
}

class PostgresCopySource implements CopySource {
  readonly id: string;
  readonly isShared = true;
  readonly #access: PostgresAccess;
  readonly #alone: NeededAlone;

  constructor(access: PostgresAccess, alone: NeededAlone, id: string) {
    this.#access = access;
    this.#alone = alone;
    this.id = id;
  }

  movedTo(): Promise<Moved | undefined> {
    return this.#access.prepare((client) => movedTo(client, this.#alone.schema));
  }

  count({ name }: CopiedTable): Promise<number> {
    return this.#access.prepare(async (client) => {
      const { rows } = await client.query<{ rows: string }>(`SELECT count(*)::text AS rows FROM ${name}`);
      return Number(rows[0]?.rows);
    });
  }

  each(
    table: CopiedTable,
    after: TableProgress['after'],
    use: (rows: readonly CopiedRow[]) => Promise<void>,
  ): Promise<void> {
    return this.#access.prepare(async (client) => {
      const { rows } = await streamRows(client, rowsQuery(table, after));
      let part = new Part();
      for await (const row of rows) {
        part.add(row);
        if (!part.isFull) continue;
        await use(part.rows as CopiedRow[]);
        part = new Part();
      }
      if (part.rows.length > 0) await use(part.rows as CopiedRow[]);
    });
  }

  digest(table: CopiedTable) {
    return this.#access.prepare((client) => digestOf(client, table));
  }

  facts(): Promise<LedgerFacts> {
    return this.#access.prepare(async (client) => {
      const { rows } = await client.query<FactsRow>(FACTS);
      const row = rows[0] as FactsRow;
      return {
        id: this.id,
        clockAt: BigInt(row.clock_at),
        restoredAt: row.restored_at === null ? null : BigInt(row.restored_at),
        keyedWith: row.keyed_with,
        keyedThrough: BigInt(row.keyed_through),
        numbers: await numbersOf(client),
        deliveredAt: await deliveredAtOf(client),
      };
    });
  }

  async markMoved(moved: Moved): Promise<void> {
    await this.#access.prepare(async (client) => {
      await requireNoProcess(client, this.#alone);
      await markMoved(client, this.#alone.schema, moved);
    });
  }

  async close(): Promise<void> {
    await this.#access.close();
  }
}

interface FactsRow {
  readonly clock_at: string;
  readonly restored_at: string | null;
  readonly keyed_with: string | null;
  readonly keyed_through: string;
}

const FACTS =
  'SELECT clock_at::text AS clock_at, restored_at::text AS restored_at, keyed_with, keyed_through::text AS keyed_through FROM _ledger';

/** Returns the last number that was drawn for each table in which no number is given twice. */
async function numbersOf(client: PoolClient): Promise<Map<string, bigint>> {
  const numbers = new Map<string, bigint>();
  for (const table of COPIED_TABLES.filter(({ name }) => COUNTED_TABLES.includes(name))) {
    const { rows } = await client.query<{ last: string | null }>(
      'SELECT pg_sequence_last_value($1::regclass)::text AS last',
      [(await sequenceOf(client, table)) ?? null],
    );
    const last = rows[0]?.last;
    if (last != null) numbers.set(table.name, BigInt(last));
  }
  return numbers;
}

/** Returns the name of the sequence that numbers the rows of a table, for SQL; undefined if the rows have no number. */
export async function sequenceOf(
  client: PoolClient,
  { name, key }: CopiedTable,
): Promise<string | undefined> {
  const own = SEQUENCES[name];
  if (own !== undefined) return own;
  if (key.length > 1) return undefined;
  const { rows } = await client.query<{ sequence: string | null }>(
    'SELECT pg_get_serial_sequence($1, $2) AS sequence',
    [name, key[0]],
  );
  return rows[0]?.sequence ?? undefined;
}

/** The sequences that are no part of their table's definition. */
const SEQUENCES: Readonly<Record<string, string>> = {
  _versions: '_version_no',
  _rejected_leads: '_rejected_no',
  _presence: '_presence_no',
};

async function deliveredAtOf(client: PoolClient): Promise<Map<bigint, bigint>> {
  const { rows } = await client.query<{ sink_no: number; at: string }>(
    `SELECT sink_no, max(delivered_at)::text AS at FROM (
       SELECT sink_no, delivered_at FROM _sink_counts UNION ALL SELECT sink_no, delivered_at FROM _count_changes
     ) AS counted WHERE delivered_at IS NOT NULL GROUP BY sink_no`,
  );
  return new Map(rows.map(({ sink_no, at }) => [BigInt(sink_no), BigInt(at)]));
}
