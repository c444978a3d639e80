import type { ClientBase } from 'pg';
import { LedgerError } from '../../ledger/contract/ledger-error.ts';

/** The oldest version of PostgreSQL that has what the ledger uses. */
const OLDEST = 14;

/** What a server says about itself. */
export interface ServerFacts {
  /** Such as 150018 for 15.18. */
  readonly versionNumber: number;
  readonly version: string;
  readonly encoding: string;
  /** Whether the default of the server, the database or the role lets a crash lose commits. */
  readonly losesCommits: boolean;
  /** The time of the server, in ms since 1970. */
  readonly now: number;
}

/** Returns what the server says about itself. @throws LedgerError if it cannot hold a ledger */
export async function requireSuitable(client: ClientBase, where: string): Promise<ServerFacts> {
  const { rows } = await client.query<ServerFacts>(FACTS);
  const facts = rows[0] as ServerFacts;
  const unsuitable = whyUnsuitable(facts, where);
  if (unsuitable) throw unsuitable;
  return facts;
}

/** Returns why a server cannot hold a ledger; undefined if it can. */
export function whyUnsuitable(
  { versionNumber, version, encoding }: Pick<ServerFacts, 'versionNumber' | 'version' | 'encoding'>,
  where: string,
): LedgerError | undefined {
  if (versionNumber < OLDEST * 10_000)
    return new LedgerError(
      'unsuitable',
      `${where} is version ${version}, which is too old for a ledger.`,
      `Upgrade the server to PostgreSQL ${OLDEST} or newer.`,
    );
  if (encoding !== 'UTF8')
    return new LedgerError(
      'unsuitable',
      `The database of the ledger in ${where} has the encoding ${encoding}, which cannot store every lead.`,
      'Create a database with the encoding UTF8, and set the address to it.',
    );
  return undefined;
}

// `reset_val` is the value before this session has changed it.
const FACTS = `SELECT current_setting('server_version_num')::int AS "versionNumber", split_part(current_setting('server_version'), ' ', 1) AS version,
  current_setting('server_encoding') AS encoding, (SELECT s.reset_val = 'off' FROM pg_settings s WHERE s.name = 'synchronous_commit') AS "losesCommits",
  floor(extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now`;
