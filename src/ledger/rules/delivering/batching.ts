import type { Random } from '../../../platform/time/clock.ts';
import type { ClaimRequest } from '../../contract/claim.ts';
import type { DueDelivery } from './divide-into-batches.ts';
import type { SinkRow } from './sink-row.ts';

/** Number of lost attempts after which a batch is split, to find the lead that makes the process crash. */
const LOST_BEFORE_SPLIT = 3;
/** Number of lost attempts after which a batch of one lead is delayed: by one minute, then two, four and so on, up to an hour. */
const LOST_BEFORE_DELAY = 5;
const HOUR_MS = 3_600_000;
/**
 * While a backlog drains, one in every `NEWEST_EVERY` batches carries the newest leads. If `window` is smaller than that, one in every
 * `window` batches does, but at most every second batch.
 */
const NEWEST_EVERY = 4;
/** A lead is newer than the backlog if it became due at least this much later than the oldest due lead, in ms. */
export const NEWER_BY_MS = 1_000;
/** Maximum number of deliveries that the search for the newest leads passes over because an older version of their lead is still pending. */
export const MAX_BLOCKED = 100;
/** Minimum step of the wall clock that counts as setting the clock and not as normal clock synchronisation, in ms. */
export const CLOCK_STEP_MS = 2_000;

/** What happens to a batch that was lost too often: it is split, or delayed by `delayMs` for a reason. */
export type LostBatch =
  | { readonly kind: 'split' }
  | { readonly kind: 'delay'; readonly delayMs: number; readonly reason: string };

/** Returns the treatment of a batch whose last `lost` attempts were lost; undefined if it is attempted again as it is. */
export function afterLosses(lost: number, deliveries: number): LostBatch | undefined {
  if (lost < LOST_BEFORE_SPLIT) return undefined;
  if (deliveries > 1) return { kind: 'split' };
  if (lost < LOST_BEFORE_DELAY) return undefined;
  const delayMs = Math.min(60_000 * 2 ** (lost - LOST_BEFORE_DELAY), HOUR_MS);
  const reason = `Its last ${lost} attempts began but never ended: leadsync was killed or crashed during each of them.`;
  return { kind: 'delay', delayMs, reason };
}

/**
 * Returns, for the next `places` batches of a sink with a backlog, the number `turns` of batches that carry the newest leads, and `next`, which the
 * next call gets as `before`.
 * @param before number of batches since the last batch with the newest leads
 */
export function turnsOfNewest(before: number, places: number, window: number) {
  const every = Math.min(Math.max(window, 2), NEWEST_EVERY);
  return { turns: Math.floor((before + places) / every), next: (before + places) % every };
}

/** Returns the deliveries that are newer than a backlog whose oldest delivery became due at `since`. */
export function newerThan<Due extends DueDelivery>(rows: readonly Due[], since: number): readonly Due[] {
  return rows.filter((row) => row.next_attempt_at - since >= NEWER_BY_MS);
}

/** Returns a random lease number, because a sequential number could equal the lease number in a job from before the ledger was restored. */
export function newLease(random: Random): number {
  return 1 + Math.floor(random() * (2 ** 52 - 1));
}

/** Returns a batch's public id. */
export function batchId(batchNo: number): string {
  return `b${batchNo.toString(36)}`;
}

/** Returns the number in a batch's public id; NaN if the text is not a batch's id. */
export function batchNumber(id: string): number {
  return /^b[0-9a-z]+$/.test(id) ? Number.parseInt(id.slice(1), 36) : Number.NaN;
}

/** Returns how many batches of a sink may be in flight: one while the sink is held, and few while it recovers. */
export function capacityOf({ health }: Pick<SinkRow, 'health'>, { window }: ClaimRequest): number {
  return health.heldSince ? 1 : Math.min(window, health.places ?? window);
}

/** Returns the earliest of some times; undefined if none is given. */
export function earliest(...times: (number | null | undefined)[]): number | undefined {
  const known = times.filter((time) => time != null);
  return known.length > 0 ? Math.min(...known) : undefined;
}
