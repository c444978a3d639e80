import type { HeldLedger, HoldOptions } from '../ledger/contract/held-ledger.ts';
import { LedgerError } from '../ledger/contract/ledger-error.ts';
import type { Clock } from '../platform/time/clock.ts';
import { DeadlinePassed, withinDeadline } from '../platform/time/deadline.ts';
import { PostgresAccess, type PostgresPlace } from './database/postgres-access.ts';
import { giveLedgerUp, heldError, holderOf, type LedgerHolder, takeLedger } from './database/run-lock.ts';

/** Interval at which the holder shows that it is alive, in ms. */
const BEAT_MS = 5_000;
/** Maximum time for each of the two steps of taking the ledger, in ms. */
const START_MS = 40_000;
/** Maximum time to give the ledger up at a stop, in ms. If it passes, the lease ends by itself. */
const RELEASE_MS = 1_000;
const never = new AbortController().signal;

/**
 * Makes this process the only one that polls and dispatches with a ledger, until `release`. The lock is a lease, because the lock of a session would
 * last for hours after a machine is cut off. It only saves processes from doing the same work: the leases of batches and the fences of polls prevent
 * that anything happens twice, even if a frozen holder continues.
 * @throws LedgerError with the code `held` if another process holds the ledger
 */
export async function holdLedger(
  place: PostgresPlace,
  { isDead, clock, ...self }: HoldOptions & LedgerHolder,
): Promise<HeldLedger> {
  const access = await PostgresAccess.open({ ...place, connections: 1 });
  try {
    const last = await access.beat(START_MS, holderOf);
    const dead = last !== undefined && (await isDead(last)) ? last : undefined;
    const other = await access.beat(START_MS, (tx) => takeLedger(tx, self, dead));
    if (other !== undefined) throw heldError(access.where, place.schema, other);
    return keep(access, self, clock);
  } catch (error) {
    await access.close();
    throw error;
  }
}

/** Shows that this process is alive, until it gives the ledger up or loses it. */
function keep(access: PostgresAccess, self: LedgerHolder, clock: Clock): HeldLedger {
  const lost = Promise.withResolvers<string>();
  const stopping = new AbortController();
  const beat = async () => {
    while (!stopping.signal.aborted) {
      await clock.sleep(BEAT_MS, stopping.signal);
      if (stopping.signal.aborted) return;
      // An error means that the server does not answer, which every call to the ledger reports. A beat that hangs must end before the lease does.
      const other = await access.beat(BEAT_MS, (tx) => takeLedger(tx, self)).catch(() => undefined);
      if (other !== undefined) return lost.resolve(other);
    }
  };
  const beating = beat();
  const release = async () => {
    stopping.abort();
    const isGivenUp = await withinDeadline(RELEASE_MS, never, async () => {
      await beating;
      await access.beat(RELEASE_MS, (tx) => giveLedgerUp(tx, self.holder));
      return true;
    }).catch(unlessPassing);
    await access.close();
    return isGivenUp;
  };
  let released: Promise<boolean> | undefined;
  return {
    lost: lost.promise,
    release: () => {
      released ??= release();
      return released;
    },
  };
}

function unlessPassing(error: unknown): false {
  if (!(error instanceof DeadlinePassed || error instanceof LedgerError)) throw error;
  return false;
}
