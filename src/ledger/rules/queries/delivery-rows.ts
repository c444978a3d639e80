import type { DestinationRecord } from '../../../leads/outcome.ts';
import type { DeliveryRow } from '../../contract/status-rows.ts';

/** A delivery as a row of the ledger's database. */
export interface RawDelivery {
  delivery_no: number;
  delivery: string;
  source: string;
  id: string;
  version: number;
  event: DeliveryRow['event'];
  sink: string;
  state: DeliveryRow['state'];
  reason: string | null;
  attempts: number;
  replay: number;
  owed_at: number;
  next_attempt_at: number | null;
  batch_no: number | null;
  settled_at: number | null;
  discarded: number;
  ref: string | null;
}

/** What the ledger still contains about the attempts of one delivery. */
export interface MadeAttempts {
  readonly made: number;
  readonly answered: 0 | 1;
  /** The HTTP status and the duration of the last attempt; null if there is none. */
  readonly last_status: number | null;
  readonly last_ms: number | null;
}

/** Converts a row of the database to a `DeliveryRow`. */
export function toDeliveryRow(row: RawDelivery, attempts: MadeAttempts): DeliveryRow {
  const { made, answered, last_status, last_ms } = attempts;
  return {
    delivery: row.delivery,
    source: row.source,
    lead: row.id,
    version: row.version,
    event: row.event,
    sink: row.sink,
    state: row.state,
    reason: row.reason ?? undefined,
    attempts: row.attempts,
    attemptsMade: made,
    lastAttempt: last_ms === null ? undefined : { httpStatus: last_status ?? undefined, durationMs: last_ms },
    hasAnswer: answered === 1,
    replay: row.replay > 0,
    owedAt: new Date(row.owed_at),
    nextAttemptAt: dateOf(row.next_attempt_at),
    inBatch: row.batch_no !== null,
    settledAt: dateOf(row.settled_at),
    discarded: row.state === 'skipped' && row.discarded === 1,
    ref: refOf(row.ref),
  };
}

/** Parses the stored JSON of the record that a lead became at its destination. */
export function refOf(stored: string | null): DestinationRecord | undefined {
  return stored === null ? undefined : (JSON.parse(stored) as DestinationRecord);
}

/** Returns the date of a stored time in ms since 1970; undefined if there is none. */
export function dateOf(ms: number | null | undefined): Date | undefined {
  return ms == null ? undefined : new Date(ms);
}
