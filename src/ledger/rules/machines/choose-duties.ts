import type { Found, KnownDuty } from '../../contract/machines.ts';
import { dutyOrder } from './duty-order.ts';
import type { LeaseTimes } from './lease-times.ts';

/** Beats for which a free duty is left to each process that stands before this one. */
const BEATS_PER_RANK = 2;
/** Minimum time that a process keeps a duty before it gives it up for a process that stands before it, in ms. */
const KEPT_MS = 600_000;

/** The process that chooses. */
interface Chooser {
  readonly holder: string;
  readonly wants: readonly string[];
  /** For how long this process has seen a duty unchanged, in ms by its own clock; undefined if it has not seen the duty before. */
  readonly unchangedMs: (duty: KnownDuty) => number | undefined;
}

/** Returns the duties that a process should take now. */
export function dutiesToTake(found: Found, own: Chooser, times: LeaseTimes): readonly string[] {
  return found.duties
    .filter((duty) => own.wants.includes(duty.duty) && mayTake(duty, found, own, times))
    .map(({ duty }) => duty);
}

function mayTake(duty: KnownDuty, found: Found, own: Chooser, times: LeaseTimes): boolean {
  if (duty.holder === own.holder) return false;
  const freeMs = freeForMs(duty, own.unchangedMs(duty), times);
  if (freeMs === undefined) return false;
  // The former holder does not count: it has not renewed its lease, although it may not count as dead yet.
  const others = alive(found, own.holder, times).filter(({ holder }) => holder !== duty.holder);
  const rank = dutyOrder(duty.duty, others).indexOf(own.holder);
  return rank >= 0 && freeMs >= rank * BEATS_PER_RANK * times.beatMs;
}

/**
 * Returns for how long a duty has been free, in ms; undefined if its holder may still trust it. A process that has just started goes by the ledger's
 * clock, any other one by its own as well.
 */
function freeForMs(
  { holder, leftMs }: KnownDuty,
  seenMs: number | undefined,
  { leaseMs, unchangedMs }: LeaseTimes,
): number | undefined {
  if (holder === undefined) return Math.max(-leftMs, seenMs ?? 0);
  const ownMs = (seenMs ?? 0) - leaseMs;
  const isOver = leftMs <= 0 && (seenMs === undefined || seenMs >= unchangedMs);
  return isOver || ownMs >= 0 ? Math.max(-leftMs, ownMs) : undefined;
}

/**
 * Whether a process that holds a duty should give it up, because another one stands before it: one that is willing, if this process is
 * reluctant; otherwise only if this process has held the duty for ten minutes, so that duties do not move to and fro.
 */
export function isBetterElsewhere(duty: KnownDuty, found: Found, holder: string, times: LeaseTimes): boolean {
  const processes = alive(found, holder, times);
  const [first] = dutyOrder(duty.duty, processes);
  if (first === undefined || first === holder) return false;
  const isReluctant = (name: string | undefined) =>
    processes.some((process) => process.holder === name && process.reluctant.includes(duty.duty));
  return duty.heldForMs >= KEPT_MS || (isReluctant(holder) && !isReluctant(first));
}

/** Returns the processes that were seen within a lease, and the one that asks. One that was seen in the future has not been since the clock was set back. */
function alive({ processes }: Found, holder: string, { leaseMs }: LeaseTimes) {
  return processes.filter((process) => process.holder === holder || Math.abs(process.seenMsAgo) < leaseMs);
}
