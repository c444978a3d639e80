import type { LedgerDelivering } from '../../ledger/contract/ledger-delivering.ts';
import type { Processes } from './processes.ts';

/**
 * Reclaims the leases of dead processes, so that their batches are attempted again immediately instead of when the leases expire. Keeps the
 * leases of this process and of processes that may be alive. Returns the number of reclaimed batches.
 */
export async function reclaimLeases(ledger: LedgerDelivering, processes: Processes): Promise<number> {
  await processes.showAlive();
  let reclaimed = 0;
  for (const name of await ledger.holders()) {
    if (!(await processes.isDead(name)) || (await processes.expel?.(name)) === false) continue;
    reclaimed += await ledger.reclaimLeases(name);
    await processes.forget(name); // only now, because a forgotten process is not known to be dead
  }
  return reclaimed;
}

/** Reclaims the leases of dead processes, and forgets the dead processes that hold no lease. */
export async function reclaimAtStart(
  ledger: LedgerDelivering,
  processes: Processes,
  now: Date,
): Promise<void> {
  await reclaimLeases(ledger, processes);
  const dead = await processes.dead(now);
  // Read only now, because a dead process takes no new lease, and its leases can be reclaimed only while it is not forgotten.
  const holders = new Set(await ledger.holders());
  for (const name of dead)
    if (!holders.has(name) && (await processes.expel?.(name)) !== false) await processes.forget(name);
}
