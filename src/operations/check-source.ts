import type { Config, SourceConfig } from '../config/contract/config.ts';
import type { LastDeclaration } from '../ledger/contract/declaration.ts';
import type { DocumentStore } from '../platform/files/document-store.ts';
import { countOf } from '../platform/text/human-readable.ts';
import type { Clock, Random } from '../platform/time/clock.ts';
import { type Source, SourceError } from '../source/contract/source.ts';
import { openSource } from '../source/http-source.ts';
import type { Event } from '../telemetry/events.ts';
import { withStores } from './opening/with-stores.ts';
import { requireSameOrigin } from './require-same-origin.ts';

/** What the checks work with. */
export interface CheckParts {
  readonly clock: Clock;
  readonly random: Random;
  /** The configuration that the ledger last recorded; undefined if the ledger cannot be read. */
  readonly last: Promise<LastDeclaration | undefined>;
}

/**
 * Tests the credentials of a source and reads its listing. Returns the finding in one or two sentences, and the number of valid leads.
 * @throws SourceError, LedgerError, or StoredTokenUnusable if a stored token does not match the configuration
 */
export function checkSource(
  source: SourceConfig,
  config: Config,
  parts: CheckParts,
  signal: AbortSignal,
): Promise<{ readonly found: string; readonly leads: number }> {
  return withStores(config, parts, ({ tokens }) => checkWith(tokens, source, config.tokenKey, parts, signal));
}

async function checkWith(
  tokens: DocumentStore,
  { name, options }: SourceConfig,
  tokenKey: Config['tokenKey'],
  { clock, random, last }: CheckParts,
  signal: AbortSignal,
): Promise<{ readonly found: string; readonly leads: number }> {
  const mismatches: string[] = [];
  let isTokenNew = false;
  const emit = (event: Event) => {
    if (event.type === 'token-fallback') mismatches.push(event.reason);
    if (event.type === 'token-renewed') isTokenNew = true;
  };
  const source = openSource(name, options, { clock, random, tokens, tokenKey, emit, trial: true });
  try {
    const listing = await readListing(source, signal);
    requireSameOrigin(source, (await last)?.sources.find((known) => known.name === name)?.origin);
    const found = isTokenNew
      ? `Got a token and read ${listing.read}`
      : `The login's token works: leadsync read ${listing.read} client_secret was not tested; leadsync needs it when that token expires.`;
    if (mismatches.length === 0) return { found, leads: listing.leads };
    throw new StoredTokenUnusable(`${mismatches.join(' ')} The client credentials work: ${found}`);
  } catch (error) {
    if (mismatches.length === 0 || !(error instanceof SourceError)) throw error;
    throw new StoredTokenUnusable(`${mismatches.join(' ')} ${error.message}`, { cause: error });
  } finally {
    await source.close();
  }
}

/** The stored token of a login or an earlier run does not match the configuration. */
export class StoredTokenUnusable extends Error {
  override readonly name = 'StoredTokenUnusable';
  readonly hint =
    'Correct base_url, client_id, scope or tokens.encryption_key, whichever has changed, or log in again with `leadsync login`.';
}

/**
 * Reads the listing. Returns the number of valid leads, and in `read` the text that completes a sentence such as "leadsync read …": the size
 * of the listing and, if there are any, a sentence about rejected leads.
 */
async function readListing(
  source: Source,
  signal: AbortSignal,
): Promise<{ readonly read: string; readonly leads: number }> {
  const listing = await source.list(undefined, signal);
  if (listing.kind === 'unchanged') throw new Error('a listing is compared with none');
  let listed = 0;
  let rejected = 0;
  const reasons = new Set<string>();
  for await (const block of listing.blocks) {
    for (const element of block.elements()) {
      const item = element.read();
      listed += 1;
      if (item.kind === 'lead') continue;
      rejected += 1;
      if (reasons.size < 3) reasons.add(item.path ? `${item.path}: ${item.reason}` : item.reason);
    }
  }
  const broken =
    rejected > 0
      ? ` ${rejected} of them ${rejected === 1 ? 'does' : 'do'} not match the service's API description (${[...reasons].join('; ')}).`
      : '';
  return { read: `a listing of ${countOf(listed, 'lead')}.${broken}`, leads: listed - rejected };
}
