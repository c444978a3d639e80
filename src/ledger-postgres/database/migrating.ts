import type { PoolClient } from 'pg';
import { unfinishedError } from '../../ledger/contract/copy-errors.ts';
import { LedgerError } from '../../ledger/contract/ledger-error.ts';
import { quoted } from '../../postgres/identifier.ts';
import { requireKnown } from '../schema/known-shape.ts';
import { refreshComments, writeViews } from '../schema/public-relations.ts';
import { migrations } from '../schema/schema.ts';
import { isCopying, requireStillHere } from './copy-marks.ts';
import type { IsDead } from './live-processes.ts';
import type { PostgresAccess } from './postgres-access.ts';
import { requireNotUsed } from './require-not-used.ts';
import { LOCK_TIMEOUT } from './settings.ts';
import { statement } from './statement.ts';
import { requireSuitable } from './suitable-server.ts';

/** A ledger that was opened: its id, and the number of its migrations before. */
interface Opened {
  readonly id: string;
  /** 0 if the ledger is new. */
  readonly from: number;
}

/**
 * Creates the ledger in its schema, or applies the missing migrations, in one transaction. Another process that opens the ledger waits.
 * @throws LedgerError if the schema contains something else, a newer leadsync wrote it, or a process that is not known to be dead works with a ledger that has to be upgraded
 */
export function migrate(access: PostgresAccess, schema: string, isDead: IsDead): Promise<Opened> {
  return access.prepare(async (client) => {
    await requireSuitable(client, access.where);
    await client.query('SET LOCAL lock_timeout = 0');
    await client.query("SELECT pg_advisory_xact_lock(hashtextextended('leadsync ledger ' || $1, 0))", [
      schema,
    ]);
    await client.query(`SET LOCAL lock_timeout = '${LOCK_TIMEOUT}'`);
    await createSchema(client, schema);
    const from = (await shapeIn(client, access.where, schema)) ?? 0;
    if (from === 0) await requireEmpty(client, access.where, schema);
    else if (from < migrations.length) await requireNotUsed(client, { where: access.where, schema }, isDead);
    for (const step of migrations.slice(from)) await client.query(step);
    if (from === 0)
      await client.query(
        "INSERT INTO _ledger (id, shape) VALUES (replace(gen_random_uuid()::text, '-', ''), $1)",
        [migrations.length],
      );
    else await client.query('UPDATE _ledger SET shape = $1', [migrations.length]);
    if (from < migrations.length) await writeViews(client);
    await refreshComments(client, schema);
    return { id: await idIn(client), from };
  });
}

/** Creates the schema and the tables of a ledger, without the row of the ledger itself. The schema must be missing or empty. */
export async function createTables(client: PoolClient, schema: string): Promise<void> {
  await createSchema(client, schema);
  for (const step of migrations) await client.query(step);
  await writeViews(client);
  await refreshComments(client, schema);
}

async function createSchema(client: PoolClient, schema: string): Promise<void> {
  const { rows } = await client.query('SELECT 1 FROM pg_namespace WHERE nspname = $1', [schema]);
  // Only if it is missing: a user who owns the schema needs no right to create others.
  if (rows.length === 0) await client.query(`CREATE SCHEMA ${quoted(schema)}`);
}

/** Checks that the ledger has this version's schema. Changes nothing. @throws LedgerError if it does not */
export async function requireCurrentShape(access: PostgresAccess, schema: string): Promise<Opened> {
  const { id, shape } = await access.prepare((client) => requireShape(client, access.where, schema));
  return { id, from: shape };
}

/** Like `requireCurrentShape`, in a transaction of the caller. Returns the ledger's id, and the number of its migrations. */
export async function requireShape(
  client: PoolClient,
  where: string,
  schema: string,
): Promise<{ readonly id: string; readonly shape: number }> {
  const shape = await shapeIn(client, where, schema);
  if (shape === undefined)
    throw new LedgerError(
      'missing',
      `There is no ledger in the schema ${schema} of ${where}.`,
      'Check ledger.url and ledger.schema; the first `leadsync run` or `leadsync sync` creates the ledger.',
    );
  if (shape < migrations.length)
    throw new LedgerError(
      'older',
      `The ledger in ${where} was written by an older leadsync (schema ${shape}; this version needs schema ${migrations.length}).`,
      'Only `leadsync run` and `leadsync sync` upgrade a ledger. Start one of them with this version, or use the older leadsync until then.',
    );
  return { id: await idIn(client), shape };
}

/**
 * Whether the schema no longer holds the ledger with this id, because it was removed or another ledger was restored in its place.
 * @throws LedgerError with the code `moved` if it was moved to another place
 */
export function isReplaced(access: PostgresAccess, id: string): Promise<boolean> {
  return access
    .read(async (tx) => {
      if ((await tx.first(LEDGER))?.id !== id) return true;
      await requireStillHere(tx, access.where);
      return false;
    })
    .catch((error) => {
      if (error instanceof LedgerError && error.code === 'missing') return true;
      throw error;
    });
}

const LEDGER = statement<{ id: string }>('ledger', 'SELECT id FROM _ledger');

/**
 * Returns the number of migrations that were applied; undefined if there is no ledger.
 * @throws LedgerError if a newer leadsync wrote it, or it is an unfinished copy of another ledger
 */
export async function shapeIn(
  client: PoolClient,
  where: string,
  schema: string,
): Promise<number | undefined> {
  const { rows } = await client.query(
    "SELECT to_regclass(quote_ident($1) || '._ledger') IS NOT NULL AS known",
    [schema],
  );
  if (!(rows[0] as { known: boolean }).known) return undefined;
  if (await isCopying(client, schema)) throw unfinishedError(where);
  const shape = Number((await client.query('SELECT shape FROM _ledger')).rows[0]?.shape);
  requireKnown(where, shape);
  return shape;
}

/** Requires that nothing is in the schema. @throws LedgerError */
export async function requireEmpty(client: PoolClient, where: string, schema: string): Promise<void> {
  const { rows } = await client.query(
    'SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 LIMIT 1',
    [schema],
  );
  if (rows.length === 0) return;
  throw new LedgerError(
    'foreign',
    `The schema ${schema} of ${where} contains tables that are not a ledger's.`,
    'Choose another schema for the ledger.',
  );
}

async function idIn(client: PoolClient): Promise<string> {
  return String((await client.query('SELECT id FROM _ledger')).rows[0]?.id);
}
