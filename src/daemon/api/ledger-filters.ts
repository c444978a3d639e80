import type { DeliveryFilter, ReplayFilter } from '../../admin/contract/deliveries.ts';
import type { LeadSearch } from '../../admin/contract/leads.ts';
import type { Ids } from '../../admin/contract/operations.ts';
import { RequestError } from '../../admin/contract/request-error.ts';
import { type LeadId, MAX_LEAD_ID } from '../../leads/lead.ts';
import { isLeadId } from '../../leads/selected-id.ts';
import type { LeadChoice } from '../../ledger/contract/ledger-control.ts';
import type { ActionFilter, SelectedIds } from '../../ledger/contract/ledger-queries.ts';

/** Turns the filters of pages and API into those of the ledger. */

/** Converts a search for leads to one of the ledger. @throws RequestError if `lead` is not a lead id */
export function searchOf({ lead, since, until, ...search }: LeadSearch) {
  return { ...search, ...timesOf({ since, until }), lead: lead === undefined ? undefined : leadIdOf(lead) };
}

/** Converts a filter for deliveries to one of the ledger. @throws RequestError if `lead` is not a lead id */
export function filterOf(query: DeliveryFilter & Ids): ActionFilter {
  const { lead, state, since, until, delivered_since, delivered_until, ids, webhook_id, ...filter } = query;
  const delivered = timesOf({ since: delivered_since, until: delivered_until });
  return {
    ...filter,
    ...timesOf({ since, until }),
    deliveredSince: delivered.since,
    deliveredUntil: delivered.until,
    webhookId: webhook_id,
    ids: ids && idsOf(ids),
    lead: lead === undefined ? undefined : leadIdOf(lead),
    states: state && statesOf(state),
  };
}

function statesOf(state: NonNullable<DeliveryFilter['state']>): ActionFilter['states'] {
  return state === 'undelivered' ? ['pending', 'dead'] : [state];
}

/** Converts a filter for the leads to replay to one of the ledger. @throws RequestError if `lead` is not a lead id */
export function choiceOf({ left_out, ...filter }: ReplayFilter & Ids): LeadChoice {
  return { ...filterOf(filter), leftOut: left_out };
}

/** Divides ids into lead ids, which are numbers, and delivery ids. Ignores repeated ids. */
function idsOf(ids: readonly string[]): SelectedIds {
  const all = [...new Set(ids)];
  return { leads: all.filter(isLeadId).map(BigInt), deliveries: all.filter((id) => !isLeadId(id)) };
}

function timesOf({ since, until }: { since: string | undefined; until: string | undefined }) {
  return {
    since: since === undefined ? undefined : new Date(since),
    until: until === undefined ? undefined : new Date(until),
  };
}

/** Parses a lead id. @throws RequestError if the text is not a lead id */
export function leadIdOf(text: string): LeadId {
  if (isLeadId(text)) return BigInt(text);
  const hint = `A lead id is a whole number from 1 to ${MAX_LEAD_ID}.`;
  throw new RequestError(400, 'wrong-lead-id', 'This is not a lead id.', hint);
}
