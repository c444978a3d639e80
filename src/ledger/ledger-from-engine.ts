import { nextWrite } from '../platform/files/next-file-write.ts';
import type { Clock } from '../platform/time/clock.ts';
import { Stopwatch } from '../platform/time/stopwatch.ts';
import type { MirroredLedger } from './contract/mirrored-ledger.ts';
import { inspectFile } from './database/inspect-file.ts';
import { BegunAttempts } from './delivering/begun-attempts.ts';
import type { BegunBatch } from './delivering/settling.ts';
import type { LedgerEngine } from './engine.ts';

/**
 * Returns a ledger that uses an engine. If the attempt of a batch began with the claim, keeps the batch in memory until the caller calls `begin` for
 * that batch.
 */
export function ledgerOf(
  engine: LedgerEngine,
  { file, clock }: { file: string; clock: Clock },
): MirroredLedger {
  const begun = new BegunAttempts();
  /** Returns a begun batch with the span of its lease since a call. The engine's clock is this machine's, so the span is exact. */
  const sinceCall = ({ batch, lease, leasedUntil }: BegunBatch, calledAt: Date) => ({
    batch,
    lease,
    leasedForMs: leasedUntil - calledAt.getTime(),
  });
  return {
    ...engine,

    claim: async (request) => {
      const [sinceClaim, calledAt] = [new Stopwatch(clock), clock.now()];
      const { claimed, begun: started } = await engine.claimAndBegin(request);
      begun.keep(
        started.map((one) => sinceCall(one, calledAt)),
        claimed.refs,
        sinceClaim,
      );
      return claimed;
    },

    begin: async (ref, leaseMs) => {
      // If the lease of a kept batch has expired, the engine decides whether the attempt may begin.
      const kept = begun.take(ref);
      if (kept) return kept;
      const [sinceLease, calledAt] = [new Stopwatch(clock), clock.now()];
      const began = await engine.beginLease(ref, leaseMs);
      return began && { ...sinceCall(began, calledAt), sinceLease };
    },

    unknownElements: async (poll, block) => {
      const { hash, size } = block;
      if (await engine.beginBlock(poll, { hash, size })) return [];
      const elements = block.elements();
      const heads = elements.map(({ id, hash }) => ({ id, hash }));
      return (await engine.unknownIndexes(poll, heads)).map(
        (index) => elements[index] as (typeof elements)[number],
      );
    },

    nextWrite: (atMostMs, signal) => nextWrite(`${file}-wal`, clock, atMostMs, signal), // every commit writes to this file

    inspect: async (signal) => {
      const damage = await inspectFile(file, 'quick', signal);
      if (damage?.code === 'damaged') engine.reportDamage(damage);
      return damage;
    },

    close: async () => {
      // Batches that were begun but not attempted must not count as lost attempts. If this call fails, they count as lost, which does
      // little harm.
      const unused = begun.takeAll().map(({ batch, lease }) => ({ batch: batch.id, lease }));
      if (unused.length > 0) await engine.undoBegin(unused).catch(() => undefined);
      await engine.close();
    },
  };
}
