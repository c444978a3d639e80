import type { Delivery, LeadEvent } from '../../../leads/delivery.ts';

/** Stands for a mapping whose text was lost. It cannot be compiled, so no lead is sent in a different form than before. */
export const LOST_MAPPING = 'lost';

/** A delivery of a batch, with its lead's content. */
export interface DeliveryRow {
  delivery_no: number;
  /** Whether the lead has been erased and the event of this delivery is not `erased`. */
  gone: 0 | 1;
  /**
   * The number of the lead's current version, if that version is newer and the delivery may change to it. Null otherwise, for example if
   * the delivery may have arrived and so keeps its version.
   */
  newest: number | null;
  delivery: string;
  source: string;
  id: string;
  version: number;
  event: LeadEvent;
  replay: number;
  was_left_out: 0 | 1;
  first_seen_at: number;
  valid_from: number;
  poll_id: number;
  hash: string;
  raw: string;
  /** Whether an earlier attempt may have delivered it. */
  unsure: 0 | 1;
  /** Whether the delivery shows how fast new leads are delivered. */
  is_new_lead: 0 | 1;
  /** The number of the mapping to use: that of an earlier attempt if the delivery must keep it, otherwise that of the batch. */
  mapping_no: number | null;
  batch_mapping_no: number | null;
  /** Whether the delivery needs a new id, because a request with the present id had another mapping. */
  needs_new_id: 0 | 1;
}

/** Returns a delivery as the sink gets it. */
export function toDelivery(row: DeliveryRow): Delivery {
  return {
    id: row.delivery,
    source: row.source,
    leadId: BigInt(row.id),
    version: row.version,
    event: row.event,
    replay: row.replay > 0 && row.was_left_out === 0,
    firstSeenAt: new Date(row.first_seen_at),
    changedAt: new Date(row.valid_from),
    poll: row.poll_id,
    hash: row.hash,
    raw: row.raw,
    ...(row.was_left_out === 1 ? { wasLeftOut: true } : {}),
    ...(row.unsure === 1 ? { mayHaveArrived: true } : {}),
    ...(row.is_new_lead === 1 ? { isNewLead: true } : {}),
  };
}
