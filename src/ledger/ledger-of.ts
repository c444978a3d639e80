import type { Clock } from '../platform/time/clock.ts';
import type { Ledger } from './contract/ledger.ts';
import { inspectFile } from './database/inspect-file.ts';
import { BegunAttempts } from './delivering/begun-attempts.ts';
import type { LedgerEngine } from './engine.ts';

/** The ledger that an engine works for. What began with its claim is kept here until its attempt asks for it. */
export function ledgerOf(engine: LedgerEngine, { file, clock }: { file: string; clock: Clock }): Ledger {
  const begun = new BegunAttempts();
  return {
    ...engine,

    claim: async (request) => {
      const { claimed, begun: started } = await engine.claimAndBegin(request);
      begun.keep(started, claimed.refs);
      return claimed;
    },

    begin: async (ref, leaseMs) =>
      // Whoever comes too late finds that the lease is no longer his, and asks the ledger like everybody else.
      begun.take(ref, clock.now().getTime()) ?? engine.beginLease(ref, leaseMs),

    clockWentBack: async (byMs) => {
      const moved = await engine.clockWentBack(byMs);
      // Their leases have been pulled back as well: whoever has not asked yet comes too late.
      begun.takeAll();
      return moved;
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

    inspect: async (signal) => {
      const damage = await inspectFile(file, 'quick', signal);
      if (damage?.code === 'damaged') engine.reportDamage(damage);
      return damage;
    },

    close: async () => {
      // What was begun and not attempted is not to count as lost. When it cannot be told, it does: that harms little.
      const unused = begun.takeAll().map(({ batch, lease }) => ({ batch: batch.id, lease }));
      if (unused.length > 0) await engine.undoBegin(unused).catch(() => undefined);
      await engine.close();
    },
  };
}
