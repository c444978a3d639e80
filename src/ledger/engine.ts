import type { BatchRef } from '../leads/delivery.ts';
import type { BlockHead, ListedElement } from '../leads/listed-lead.ts';
import type { ClaimRequest, ClaimResult } from './contract/claim.ts';
import type { MirroredLedger } from './contract/mirrored-ledger.ts';
import type { PollId } from './contract/status-rows.ts';
import type { BegunBatch } from './delivering/settling.ts';

/** The result of `claim`, and the claimed batches whose attempts began in the same commit. */
export interface ClaimAndBeginResult {
  readonly claimed: ClaimResult;
  readonly begun: readonly BegunBatch[];
}

/**
 * A ledger whose methods take and return only values that can be copied, so that they can be called by message. `ledgerOf` makes a `Ledger`
 * from it in the calling thread.
 */
export interface LedgerEngine
  extends Omit<
    MirroredLedger,
    'claim' | 'begin' | 'unknownElements' | 'nextWrite' | 'inspect' | 'repeatedTransactions'
  > {
  /** Like `Ledger.claim`. The caller attempts the begun batches, or passes them to `undoBegin`. */
  claimAndBegin(request: ClaimRequest): Promise<ClaimAndBeginResult>;
  /** Like `Ledger.begin`, but for a batch whose attempt did not begin when it was claimed. */
  beginLease(ref: BatchRef, leaseMs: number): Promise<BegunBatch | undefined>;
  /** Records that these attempts were never made, so that another process can begin them immediately under the same leases. */
  undoBegin(refs: readonly Pick<BatchRef, 'batch' | 'lease'>[]): Promise<void>;
  /** Begins a block of the listing. Returns true if the block is known; all of its leads then count as seen in this poll. */
  beginBlock(poll: PollId, block: BlockHead): Promise<boolean>;
  /**
   * Returns the indexes of the elements whose content is not known or whose lead was gone. The other elements count as seen in this poll.
   */
  unknownIndexes(
    poll: PollId,
    elements: readonly Pick<ListedElement, 'id' | 'hash'>[],
  ): Promise<readonly number[]>;
}
