import type { LeadEvent } from '../../../leads/delivery.ts';
import type { AttemptedDelivery } from '../../../leads/judgement.ts';
import type { Outcome } from '../../../leads/outcome.ts';
import type { Attempt } from '../../contract/ledger-delivering.ts';

/** A delivery of a batch whose attempt has ended, as the ledger stores it. Times are in ms since 1970. */
export interface PendingRow {
  delivery_no: number;
  attempts: number;
  excused: number;
  refused_at: number | null;
  retried_at: number | null;
  event: LeadEvent;
  /** When the delivery was last attempted or, before its first attempt, owed. */
  waiting_since: number;
}

/**
 * Returns the facts about a batch's deliveries for the judge, in their order. `now` is the ledger's time, in ms since 1970.
 * @throws Error if the sink did not return one outcome per delivery
 */
export function attemptedDeliveries(
  pending: readonly PendingRow[],
  attempt: Attempt,
  now: number,
): AttemptedDelivery[] {
  if (pending.length !== attempt.outcomes.length)
    throw new Error(`a sink returned ${attempt.outcomes.length} outcomes for ${pending.length} deliveries`);
  // Not `attempt.startedAt`, because the clock may have been set in the meantime.
  const startedAt = new Date(now - attempt.durationMs);
  return pending.map((row, index) => ({
    startedAt,
    attempts: row.attempts,
    excused: row.excused,
    waitingSince: new Date(row.waiting_since),
    refusedAt: row.refused_at === null ? undefined : new Date(row.refused_at),
    retried: row.retried_at !== null,
    ofErased: row.event === 'erased',
    outcome: attempt.outcomes[index] as Outcome,
  }));
}
