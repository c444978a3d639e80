import { clientKeyOf, fingerprintOf, KEYED_CHARACTERS, KEYED_ROWS } from '../../ledger/rules/client-keys.ts';
import { statement, texts } from '../database/statement.ts';
import type { Transaction } from '../database/transaction.ts';

/** Maximum number of keys that are removed in one transaction. */
const REMOVED_KEYS = 5_000;

/** Whether keys have to be computed or removed. */
export async function isBehind(tx: Transaction, secret: string | undefined): Promise<boolean> {
  const progress = await tx.first(PROGRESS);
  if (progress?.keyed_with !== fingerprintOf(secret)) return true;
  return secret !== undefined && progress.behind;
}

/**
 * Computes the keys of one chunk of the leads that have no key yet, or, if the secret has changed, first removes one chunk of the keys. Returns
 * true if no lead is left. Holds the owing lock, so that no lead is erased between reading its text and storing its key.
 */
export async function keySome(tx: Transaction, secret: string | undefined): Promise<boolean> {
  tx.requireOwingLock();
  const fingerprint = fingerprintOf(secret);
  if ((await tx.first(PROGRESS))?.keyed_with !== fingerprint) {
    if ((await tx.run(REMOVE, [REMOVED_KEYS])) === REMOVED_KEYS) return false;
    await tx.run(BEGIN, [fingerprint]);
  }
  if (secret === undefined) return true;
  const rows = await tx.rows(NEXT, [KEYED_ROWS, KEYED_CHARACTERS]);
  const last = rows.at(-1);
  if (!last) return true;
  // Of several versions of a lead, the key of the newest one counts.
  const keyed = [...new Map(rows.map((row) => [`${row.source} ${row.id}`, row])).values()];
  await tx.run(PUT, [
    texts(keyed.map(({ source }) => source)),
    keyed.map(({ id }) => BigInt(id)),
    keyed.map(({ created_at }) => created_at),
    texts(keyed.map(({ raw }) => clientKeyOf(secret, raw))),
    tx.now,
  ]);
  await tx.run(ADVANCE, [last.no]);
  return false;
}

const PROGRESS = statement<{ keyed_with: string | null; behind: boolean }>(
  'keying-progress',
  'SELECT keyed_with, keyed_through < (SELECT coalesce(max(version_no), 0) FROM _versions) AS behind FROM _ledger',
);
const REMOVE = statement(
  'remove-client-keys',
  'DELETE FROM _client_keys WHERE ctid = ANY (ARRAY(SELECT k.ctid FROM _client_keys k LIMIT $1))',
);
const BEGIN = statement('begin-keying', 'UPDATE _ledger SET keyed_with = $1, keyed_through = 0');
// Leaves out the rows behind those that fill a chunk: they would all be in memory.
const NEXT = statement<{ no: number; source: string; id: string; created_at: number | null; raw: string }>(
  'versions-to-key',
  `SELECT n.* FROM (SELECT r.*, sum(length(r.raw)) OVER (ORDER BY r.no) - length(r.raw) AS earlier FROM (
     SELECT version_no AS no, source, id::text AS id, created_at, raw FROM _versions
     WHERE version_no > (SELECT keyed_through FROM _ledger) ORDER BY version_no LIMIT $1) r) n WHERE n.earlier <= $2 ORDER BY n.no`,
);
const PUT = statement(
  'put-client-keys',
  `INSERT INTO _client_keys (source, id, created_at, client_key, keyed_at)
   SELECT g.source, g.id, g.created_at, g.client_key, $5 FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[]) AS g (source, id, created_at, client_key)
   ON CONFLICT (source, id) DO UPDATE SET created_at = excluded.created_at, client_key = excluded.client_key, keyed_at = excluded.keyed_at`,
);
const ADVANCE = statement('advance-keying', 'UPDATE _ledger SET keyed_through = $1');
