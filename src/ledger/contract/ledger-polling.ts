import type { ListedBlock, ListedElement, ListedItem } from '../../leads/listed-lead.ts';
import type { ListingMark } from '../../leads/listing-mark.ts';
import type { PollId } from './status-rows.ts';

/** What was recorded of a listing, or of a part of it. */
export interface RecordCounts {
  readonly listed: number;
  readonly new: number;
  readonly changed: number;
  readonly rejected: number;
}

/** How a poll ended. `partial` means that some of the listing was recorded before it broke off. */
export type PollEnd =
  | { status: 'success'; bytes: number; httpStatus: number; mark: ListingMark | undefined }
  /** A `mark` takes the place of the one that is kept. */
  | { status: 'unchanged'; bytes: number; httpStatus: number; mark?: ListingMark | undefined }
  | { status: 'partial' | 'failed'; httpStatus: number | undefined; error: string };

/** A poll's totals once it has ended. */
export interface PollSummary extends RecordCounts {
  readonly status: PollEnd['status'];
  /** How many leads the source listed in the last complete poll before this one. */
  readonly listedBefore: number;
  /** Why leads were rejected: the first few different reasons, each with its path. */
  readonly rejectedFor: readonly string[];
}

/** What polls ask: where a source's leads come from, what its last listing was, and to record the next. */
export interface LedgerPolling {
  /** The mark of the last listing of this source that was recorded to its end. */
  listingMark(source: string): Promise<ListingMark | undefined>;
  /** Returns when a listing of this source was last known to its end. */
  lastCompleteAt(source: string): Promise<Date | undefined>;
  /** Begins a poll; one of the same source that never ended is marked as failed. */
  startPoll(source: string): Promise<PollId>;
  /**
   * Begins a block of the listing, and notes its leads that are listed with the very content that is known, which writes
   * nothing. Gives the other elements, in order: what they say has to be recorded before the next block begins.
   */
  unknownElements(poll: PollId, block: ListedBlock): Promise<readonly ListedElement[]>;
  /**
   * Records a part of a listing: new and changed leads become seen and owed to every sink that asks for it, in one
   * transaction. A crash keeps both or neither. Elements that are known and unchanged write nothing.
   */
  record(poll: PollId, items: readonly ListedItem[]): Promise<RecordCounts>;
  /**
   * Ends a poll. The mark of a complete listing is kept in the same transaction. Nothing is ever removed. A complete listing
   * with the very blocks of the last one counts as `unchanged`.
   */
  finishPoll(poll: PollId, end: PollEnd): Promise<PollSummary>;
  /** Keeps where the leads of a source come from, unless it has leads of another origin. Returns the origin that is kept. */
  recordOrigin(source: string, origin: string): Promise<string>;
  /** Whatever its next poll says is kept then. False when there is no such source. */
  forgetOrigin(source: string): Promise<boolean>;
}
