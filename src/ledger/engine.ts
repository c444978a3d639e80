import type { BatchRef } from '../leads/delivery.ts';
import type { ListedBlock, ListedElement } from '../leads/listed-lead.ts';
import type { ClaimRequest, ClaimResult } from './contract/claim.ts';
import type { Ledger } from './contract/ledger.ts';
import type { BegunAttempt } from './contract/ledger-delivering.ts';
import type { PollId } from './contract/status-rows.ts';
import type { BegunBatch } from './delivering/settling.ts';

/** What claiming gave, and those of its batches whose attempts began in the same commit. */
export interface ClaimedAndBegun {
  readonly claimed: ClaimResult;
  readonly begun: readonly BegunBatch[];
}

/**
 * A ledger as it can be asked by messages: whatever is handed over can be copied. `ledgerOf` makes a `Ledger` of it, and keeps what
 * the asking thread needs at hand.
 */
export interface LedgerEngine extends Omit<Ledger, 'claim' | 'begin' | 'unknownElements' | 'inspect'> {
  /** As `Ledger.claim`. What it gives as begun is attempted, or given back. */
  claimAndBegin(request: ClaimRequest): Promise<ClaimedAndBegun>;
  /** As `Ledger.begin`, for a batch whose attempt did not begin with its claim. */
  beginLease(ref: BatchRef, leaseMs: number): Promise<BegunAttempt | undefined>;
  /** These attempts were never made: another process can begin them at once, under the same leases. */
  undoBegin(refs: readonly Pick<BatchRef, 'batch' | 'lease'>[]): Promise<void>;
  /** Begins a block of the listing. True when it is known: then all of its leads are noted as met. */
  beginBlock(poll: PollId, block: Omit<ListedBlock, 'elements'>): Promise<boolean>;
  /** Notes elements as met that are listed with the very content that is known. Returns the places of the others among them. */
  unknownIndexes(
    poll: PollId,
    elements: readonly Pick<ListedElement, 'id' | 'hash'>[],
  ): Promise<readonly number[]>;
}
