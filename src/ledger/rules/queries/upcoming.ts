import type { DeliveryState, LeadEvent } from '../../../leads/delivery.ts';
import type { LeadKey } from '../../../leads/person.ts';
import type { Upcoming } from '../../contract/status-rows.ts';

/** The content of a version. Times are in ms since 1970. */
export interface VersionRow {
  version: number;
  first_seen_at: number;
  valid_from: number;
  poll_id: number;
  hash: string;
  raw: string;
}

/** The delivery of a lead that is next or, if none is pending, the last one. */
export interface OwedRow extends VersionRow {
  delivery: string;
  event: LeadEvent;
  replay: number;
  was_left_out: 0 | 1;
  state: DeliveryState;
  reason: string | null;
  settled_at: number | null;
  /** Whether the delivery must keep the mapping of an earlier attempt, and the text of that mapping; null if the lead was sent as received. */
  keeps_mapping: 0 | 1;
  mapping: string | null;
}

/** Returns the delivery that is next or, if none is pending, the last one. */
export function owedNext(lead: LeadKey, row: OwedRow): Upcoming {
  const {
    delivery: id,
    event,
    replay,
    was_left_out,
    state,
    reason,
    settled_at,
    keeps_mapping,
    mapping,
  } = row;
  const former = state === 'pending' && keeps_mapping === 1 ? { formerMapping: mapping } : {};
  return {
    delivery: { id, ...lead, event, replay: replay > 0 && was_left_out === 0, ...contentOf(row), ...former },
    state,
    reason: reason ?? undefined,
    settledAt: settled_at === null ? undefined : new Date(settled_at),
  };
}

/** Returns the delivery that a backfill would create for a lead that was never owed to the sink. */
export function neverOwed(sink: string, lead: LeadKey, version: VersionRow): Upcoming {
  const content = contentOf(version);
  const id = [sink, lead.source, lead.leadId, content.version, content.hash.slice(0, 8)].join(':');
  return {
    delivery: { id, ...lead, event: 'created', replay: false, ...content },
    state: undefined,
    reason: undefined,
    settledAt: undefined,
  };
}

function contentOf({ version, first_seen_at, valid_from, poll_id: poll, hash, raw }: VersionRow) {
  return { version, firstSeenAt: new Date(first_seen_at), changedAt: new Date(valid_from), poll, hash, raw };
}
