import type { FoundLeads, PersonSearch } from '../../admin/contract/leads.ts';
import type { PageRequest } from '../../admin/contract/operations.ts';
import { RequestError } from '../../admin/contract/request-error.ts';
import { contactMatcher } from '../../leads/find-contact.ts';
import type { AskLedger } from '../../ledger/contract/ledger-pages.ts';
import type { FoundLead } from '../../ledger/contract/page-rows.ts';
import { foundLeadJson } from '../../status/record-json.ts';

/** Maximum number of queries for one answer. Other queries can run between two of them. */
const MAX_QUERIES = 10;

/**
 * Finds leads by part of the client's name, email address or phone number. Continues until the page is full, no lead versions are left, or
 * `MAX_QUERIES` queries were made. @throws RequestError
 */
export async function findLeads(
  { text, source }: PersonSearch,
  { limit, after }: PageRequest,
  query: AskLedger,
): Promise<FoundLeads> {
  if (contactMatcher(text) === undefined)
    throw new RequestError(
      400,
      'text-too-short',
      'The text is too short to search for.',
      'Enter at least two letters, or four digits of a phone number.',
    );
  let before = after === undefined ? undefined : numberOf(after);
  const rows: FoundLead[] = [];
  for (let queries = 1; ; queries += 1) {
    const found = await query('findLeads', { text, source, before }, limit - rows.length);
    rows.push(...found.rows);
    const { next } = found;
    if (next === undefined) return { rows: rows.map(foundLeadJson), next: null, searched_until: null };
    before = next.before;
    if (rows.length < limit && queries < MAX_QUERIES) continue;
    return {
      rows: rows.map(foundLeadJson),
      next: String(next.before),
      searched_until: new Date(next.at).toISOString(),
    };
  }
}

function numberOf(after: string): number {
  if (/^\d{1,15}$/.test(after)) return Number(after);
  throw new RequestError(
    400,
    'wrong-page',
    'The cursor of this page is invalid.',
    'Omit `after` to get the first page.',
  );
}
