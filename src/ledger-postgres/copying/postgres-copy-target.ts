import type { PoolClient } from 'pg';
import { targetTakenError } from '../../ledger/contract/copy-errors.ts';
import type {
  CopiedRow,
  CopiedTable,
  CopyTarget,
  LedgerFacts,
  TableProgress,
} from '../../ledger/contract/ledger-copy.ts';
import { COPIED_TABLES } from '../../ledger/rules/copying/copied-tables.ts';
import { printProgress, readProgress } from '../../ledger/rules/copying/progress.ts';
import { quoted } from '../../postgres/identifier.ts';
import { COPYING, isCopying } from '../database/copy-marks.ts';
import { type IsDead, requireNoProcess } from '../database/live-processes.ts';
import { createTables, requireShape, shapeIn } from '../database/migrating.ts';
import { PostgresAccess, type PostgresPlace } from '../database/postgres-access.ts';
import { requireSuitable } from '../database/suitable-server.ts';
import { requireRoom } from '../inspect-server.ts';
import { migrations } from '../schema/schema.ts';
import { copyIn } from './copy-in.ts';
import { sequenceOf } from './postgres-copy-source.ts';
import { columnsOf, digestOf } from './postgres-rows.ts';

/**
 * Checks that a copy of the ledger `source` can be made in a schema: it has no ledger, or one without leads, or an unfinished copy of the same ledger.
 * Changes nothing. Returns whether it has such a copy. @throws LedgerError
 */
export async function inspectPostgresTarget(
  place: PostgresPlace,
  source: string,
  isDead: IsDead,
): Promise<boolean> {
  const access = await PostgresAccess.open({ ...place, connections: 1 });
  const target = { where: access.where, schema: place.schema, isDead };
  try {
    return await access.prepare((client) => inspect(client, target, source));
  } finally {
    await access.close();
  }
}

/** Begins or continues a copy in a schema. @throws LedgerError, in the same cases as `inspectPostgresTarget` */
export async function openPostgresTarget(
  place: PostgresPlace,
  source: string,
  isDead: IsDead,
): Promise<CopyTarget> {
  const access = await PostgresAccess.open({ ...place, connections: 1 });
  const target = { where: access.where, schema: place.schema, isDead };
  try {
    const isContinued = await access.prepare(async (client) => {
      const isOfSource = await inspect(client, target, source);
      if (!isOfSource) await begin(client, place.schema, source);
      return isOfSource;
    });
    return new PostgresCopyTarget(access, isContinued);
  } catch (error) {
    await access.close();
    throw error;
  }
}

/** A schema in which a copy is to be made. */
interface Target {
  readonly where: string;
  readonly schema: string;
  readonly isDead: IsDead;
}

async function inspect(client: PoolClient, target: Target, source: string): Promise<boolean> {
  const { where, schema } = target;
  await requireSuitable(client, where);
  if (await isCopying(client, schema)) {
    await requireCopyOf(client, where, schema, source);
    return true;
  }
  if ((await shapeIn(client, where, schema)) === undefined) await requireRoom(client, where, schema);
  else await requireNoLeads(client, target);
  return false;
}

async function requireCopyOf(
  client: PoolClient,
  where: string,
  schema: string,
  source: string,
): Promise<void> {
  const { rows } = await client.query<{ name: string; value: string }>(
    "SELECT name, value FROM _copying WHERE name IN ('source', 'shape')",
  );
  const noted = new Map(rows.map(({ name, value }) => [name, value]));
  const hint = `Remove the copy: DROP SCHEMA ${quoted(schema)} CASCADE. Then copy again.`;
  if (noted.get('source') !== source)
    throw targetTakenError(where, 'is an unfinished copy of another ledger than this one', hint);
  if (noted.get('shape') !== String(migrations.length))
    throw targetTakenError(where, 'is an unfinished copy that another version of leadsync has begun', hint);
}

async function requireNoLeads(client: PoolClient, target: Target): Promise<void> {
  const { where, schema } = target;
  await requireShape(client, where, schema);
  await requireNoProcess(client, { ...target, why: 'is to be replaced by a copy' });
  const { rows } = await client.query('SELECT 1 FROM _versions UNION ALL SELECT 1 FROM _leads LIMIT 1');
  if (rows.length === 0) return;
  throw targetTakenError(
    where,
    'has leads of its own, which a copy would replace',
    `Choose another schema with ledger.schema. If these leads are not needed, remove them: DROP SCHEMA ${quoted(schema)} CASCADE. Then copy again.`,
  );
}

/** Creates the tables and the mark. A ledger that is there has no leads, and is emptied. */
async function begin(client: PoolClient, schema: string, source: string): Promise<void> {
  const { rows } = await client.query(
    "SELECT 1 WHERE to_regclass(quote_ident($1) || '._ledger') IS NOT NULL",
    [schema],
  );
  if (rows.length === 0) await createTables(client, schema);
  else await client.query(`TRUNCATE ${[...COPIED_TABLES.map(({ name }) => name), ...OTHERS].join(', ')}`);
  await client.query(COPYING);
  await client.query("INSERT INTO _copying VALUES ('source', $1), ('shape', $2)", [
    source,
    String(migrations.length),
  ]);
}

/** Tables of a ledger that are not copied, and that a new ledger may have rows in. */
const OTHERS: readonly string[] = ['_ledger', '_sink_counts', '_count_changes'];

class PostgresCopyTarget implements CopyTarget {
  readonly isContinued: boolean;
  readonly #access: PostgresAccess;

  constructor(access: PostgresAccess, isContinued: boolean) {
    this.#access = access;
    this.isContinued = isContinued;
  }

  progress({ name }: CopiedTable): Promise<TableProgress> {
    return this.#access.prepare(async (client) => {
      const { rows } = await client.query<{ value: string }>('SELECT value FROM _copying WHERE name = $1', [
        name,
      ]);
      return readProgress(rows[0]?.value);
    });
  }

  add(table: CopiedTable, rows: readonly CopiedRow[], from: TableProgress, to: TableProgress): Promise<void> {
    return this.#access.prepare(async (client) => {
      const { rowCount } = await client.query(RECORD, [table.name, printProgress(to), printProgress(from)]);
      if (rowCount === 0)
        throw targetTakenError(
          this.#access.where,
          'is being copied into by another process',
          'Let that one end, or stop it. Then copy again: it continues.',
        );
      await copyIn(client, table.name, columnsOf(table), rows);
    });
  }

  digest(table: CopiedTable) {
    return this.#access.prepare((client) => digestOf(client, table));
  }

  finish(facts: LedgerFacts): Promise<void> {
    return this.#access.prepare((client) => complete(client, facts));
  }

  async close(): Promise<void> {
    await this.#access.close();
  }
}

async function complete(client: PoolClient, facts: LedgerFacts): Promise<void> {
  await client.query('SET LOCAL enable_seqscan = on');
  const { id, clockAt, restoredAt, keyedWith, keyedThrough, numbers } = facts;
  await client.query(LEDGER, [id, migrations.length, clockAt, restoredAt, keyedWith, keyedThrough]);
  await client.query('UPDATE _clock_set_back SET is_done = true');
  await client.query(COUNTS);
  for (const table of COPIED_TABLES) {
    const sequence = await sequenceOf(client, table);
    if (sequence === undefined) continue;
    await client.query(
      `SELECT setval($1::regclass, last) FROM (SELECT greatest(max(${table.key[0]}), $2::bigint) AS last FROM ${table.name}) AS used WHERE last > 0`,
      [sequence, numbers.get(table.name) ?? 0n],
    );
  }
  await client.query('DROP TABLE _copying');
  // Plans that read whole tables depend on statistics, which the server would otherwise gather some time later.
  await client.query(`ANALYZE ${COPIED_TABLES.map(({ name }) => name).join(', ')}`);
}

/** Records the progress from $3 to $2. Two processes cannot both do so. */
const RECORD = `INSERT INTO _copying AS c (name, value) VALUES ($1, $2)
  ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE c.value = $3`;

const LEDGER = `INSERT INTO _ledger (id, shape, clock_at, restored_at, keyed_with, keyed_through)
  VALUES ($1, $2, $3::bigint, $4::bigint, $5, $6::bigint)`;

const COUNTS = `INSERT INTO _sink_counts (sink_no, pending, delivered, dead, skipped)
  SELECT s.sink_no, count(*) FILTER (WHERE d.state = 'pending'), count(*) FILTER (WHERE d.state = 'delivered'),
    count(*) FILTER (WHERE d.state = 'dead'), count(*) FILTER (WHERE d.state = 'skipped')
  FROM _sinks s LEFT JOIN _deliveries d ON d.sink_no = s.sink_no GROUP BY s.sink_no`;
