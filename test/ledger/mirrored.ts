import type { Ledger } from '../../src/ledger/contract/ledger.ts';
import { isMirrored, type MirroredLedger } from '../../src/ledger/contract/mirrored-ledger.ts';

/** Returns the ledger as one that mirrors can copy. */
export function mirrored(ledger: Ledger): MirroredLedger {
  if (isMirrored(ledger)) return ledger;
  throw new Error('a mirror cannot copy this ledger');
}
