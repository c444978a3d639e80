import {
  clientKeyOf,
  fingerprintOf,
  KEYED_CHARACTERS,
  KEYED_ROWS,
} from '../../ledger/rules/privacy/client-keys.ts';
import { statement, texts } from '../database/statement.ts';
import type { Transaction } from '../database/transaction.ts';

/** Maximum number of keys that are removed in one transaction. */
const REMOVED_KEYS = 5_000;

/** The next chunk of work. Keys of another secret are removed first. `through` is the last version whose key has been computed. */
type NextKeys =
  | { readonly kind: 'remove' }
  | { readonly kind: 'compute'; readonly through: number; readonly versions: readonly VersionRow[] };

interface VersionRow {
  no: number;
  source: string;
  id: string;
  created_at: number | null;
  raw: string;
}

/** Reads the chunk of versions whose keys are to be computed next. Returns undefined if nothing is left to do. Only reads. */
export async function nextKeys(tx: Transaction, secret: string | undefined): Promise<NextKeys | undefined> {
  const progress = await tx.first(PROGRESS);
  if (progress?.keyed_with !== fingerprintOf(secret)) return { kind: 'remove' };
  if (secret === undefined || !progress.behind) return undefined;
  const versions = await tx.rows(NEXT, [progress.keyed_through, KEYED_ROWS, KEYED_CHARACTERS]);
  return { kind: 'compute', through: progress.keyed_through, versions };
}

/** Removes one chunk of the keys of another secret. Returns true if none is left and no keys are to be computed. */
export async function removeKeys(tx: Transaction, secret: string | undefined): Promise<boolean> {
  tx.requireOwingLock();
  const fingerprint = fingerprintOf(secret);
  if ((await tx.first(PROGRESS))?.keyed_with === fingerprint) return false; // another process has removed them
  if ((await tx.run(REMOVE, [REMOVED_KEYS])) === REMOVED_KEYS) return false;
  await tx.run(BEGIN, [fingerprint]);
  return secret === undefined;
}

/** A lead's key, which is empty if the lead has neither an email address nor a phone number. */
type ClientKey = Omit<VersionRow, 'raw'> & { readonly key: string };

/** Computes the keys of leads. This takes a while, so no lock may be held meanwhile. */
export function keysOf(secret: string, versions: readonly VersionRow[]): ClientKey[] {
  // Of several versions of a lead, the key of the newest one counts.
  const newest = [...new Map(versions.map((row) => [`${row.source} ${row.id}`, row])).values()];
  return newest.map(({ raw, ...row }) => ({ ...row, key: clientKeyOf(secret, raw) }));
}

/**
 * Stores the keys of one chunk, unless another process has stored them or the secret has changed since they were read. Leaves out leads that were
 * erased since, so it holds the owing lock, as an erasure does.
 */
export async function storeKeys(
  tx: Transaction,
  secret: string,
  { through, to }: { readonly through: number; readonly to: number },
  keys: readonly ClientKey[],
): Promise<void> {
  tx.requireOwingLock();
  if ((await tx.run(ADVANCE, [to, through, fingerprintOf(secret)])) === 0) return;
  await tx.run(PUT, [
    texts(keys.map(({ source }) => source)),
    keys.map(({ id }) => BigInt(id)),
    keys.map(({ created_at }) => created_at),
    texts(keys.map(({ key }) => key)),
    tx.now,
  ]);
}

const PROGRESS = statement<{ keyed_with: string | null; keyed_through: number; behind: boolean }>(
  'keying-progress',
  'SELECT keyed_with, keyed_through, keyed_through < (SELECT coalesce(max(version_no), 0) FROM _versions) AS behind FROM _ledger',
);
const REMOVE = statement(
  'remove-client-keys',
  'DELETE FROM _client_keys WHERE ctid = ANY (ARRAY(SELECT k.ctid FROM _client_keys k LIMIT $1))',
);
const BEGIN = statement('begin-keying', 'UPDATE _ledger SET keyed_with = $1, keyed_through = 0');
// Leaves out the rows behind those that fill a chunk: they would all be in memory.
const NEXT = statement<VersionRow>(
  'versions-to-key',
  `SELECT n.* FROM (SELECT r.*, sum(length(r.raw)) OVER (ORDER BY r.no) - length(r.raw) AS earlier FROM (
     SELECT version_no AS no, source, id::text AS id, created_at, raw FROM _versions
     WHERE version_no > $1 ORDER BY version_no LIMIT $2) r) n WHERE n.earlier <= $3 ORDER BY n.no`,
);
const PUT = statement(
  'put-client-keys',
  `INSERT INTO _client_keys (source, id, created_at, client_key, keyed_at)
   SELECT g.source, g.id, g.created_at, g.client_key, $5 FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[]) AS g (source, id, created_at, client_key)
   JOIN _leads l ON l.source = g.source AND l.id = g.id WHERE l.erased_no IS NULL
   ON CONFLICT (source, id) DO UPDATE SET created_at = excluded.created_at, client_key = excluded.client_key, keyed_at = excluded.keyed_at`,
);
const ADVANCE = statement(
  'advance-keying',
  'UPDATE _ledger SET keyed_through = $1 WHERE keyed_through = $2 AND keyed_with = $3',
);
