/** How long a duty stays with a process that does not renew it, in ms. */
export const DUTY_LEASE_MS = 10_000;
/** For how long a process is shown that is missing, in ms. */
export const MISSING_MS = 600_000;
/** Parts of a lease: the time between two beats, which is also the longest time that a beat may take. */
const BEATS_PER_LEASE = 4;
/**
 * Share of a lease for which its holder trusts it, reckoned from before the beat that began it. Two beats in a row may fail or get no answer.
 */
const TRUSTED = 0.7;
/**
 * Share of a lease for which another process must have seen no change of it, reckoned from the answer that showed it first. Longer than the
 * holder trusts the lease, because clocks run at slightly different speeds. Less than a whole lease by a beat, so that a process whose
 * beats are answered has seen it for long enough when the lease ends.
 */
const UNCHANGED = 0.75;

/** The times that follow from the length of a lease, all in ms. */
export interface LeaseTimes {
  readonly leaseMs: number;
  readonly beatMs: number;
  readonly trustedMs: number;
  readonly unchangedMs: number;
}

/** Returns the times that follow from the length of a lease. */
export function leaseTimes(leaseMs: number): LeaseTimes {
  return {
    leaseMs,
    beatMs: leaseMs / BEATS_PER_LEASE,
    trustedMs: leaseMs * TRUSTED,
    unchangedMs: leaseMs * UNCHANGED,
  };
}
