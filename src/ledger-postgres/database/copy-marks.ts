import type { ClientBase } from 'pg';
import { movedError } from '../../ledger/contract/copy-errors.ts';
import type { Moved } from '../../ledger/contract/ledger-copy.ts';
import { statement } from './statement.ts';
import type { Transaction } from './transaction.ts';

/** The tables by which a copy marks ledgers, as in ledger/schema/copy-marks.ts. They are no part of the schema. */
export const COPYING = 'CREATE TABLE _copying (name text PRIMARY KEY, value text NOT NULL)';
const HAS_MARK = statement<{ is_marked: boolean }>(
  'has-mark',
  "SELECT to_regclass('_moved') IS NOT NULL AS is_marked",
);
const MOVED_TO = statement<{ moved_to: string; moved_at: number }>(
  'moved-to',
  'SELECT moved_to, moved_at FROM _moved LIMIT 1',
);
const MOVED = 'CREATE TABLE IF NOT EXISTS _moved (moved_to text NOT NULL, moved_at bigint NOT NULL)';

/** Whether the ledger of this connection is a copy that was not finished. */
export function isCopying(client: ClientBase, schema: string): Promise<boolean> {
  return has(client, schema, '_copying');
}

/** Returns where the ledger of this connection was moved to, and when, in ms since 1970; undefined if it was not moved. */
export async function movedTo(client: ClientBase, schema: string): Promise<Moved | undefined> {
  if (!(await has(client, schema, '_moved'))) return undefined;
  const { rows } = await client.query<{ to: string; at: string }>(
    'SELECT moved_to AS "to", moved_at::text AS at FROM _moved LIMIT 1',
  );
  return rows[0] && { to: rows[0].to, at: Number(rows[0].at) };
}

/** Like `requireNotMoved`, in a transaction of the ledger. @throws LedgerError with the code `moved` */
export async function requireStillHere(tx: Transaction, where: string): Promise<void> {
  if (!(await tx.first(HAS_MARK))?.is_marked) return;
  const moved = await tx.first(MOVED_TO);
  if (moved) throw movedError(where, moved.moved_to, moved.moved_at);
}

/** Requires that the ledger of this connection was not moved. @throws LedgerError with the code `moved` */
export async function requireNotMoved(client: ClientBase, where: string, schema: string): Promise<void> {
  const moved = await movedTo(client, schema);
  if (moved) throw movedError(where, moved.to, moved.at);
}

/** Marks the ledger of this connection as moved; with undefined, takes the mark away. Returns whether it was marked. */
export async function markMoved(
  client: ClientBase,
  schema: string,
  moved: Moved | undefined,
): Promise<boolean> {
  const was = (await movedTo(client, schema)) !== undefined;
  if (was) await client.query('DROP TABLE _moved');
  if (!moved) return was;
  await client.query(MOVED);
  await client.query('INSERT INTO _moved VALUES ($1, $2::bigint)', [moved.to, moved.at]);
  return was;
}

async function has(client: ClientBase, schema: string, table: string): Promise<boolean> {
  const { rows } = await client.query<{ known: boolean }>(
    "SELECT to_regclass(quote_ident($1) || '.' || $2) IS NOT NULL AS known",
    [schema, table],
  );
  return rows[0]?.known === true;
}
