import type { ListedBlock, ListedElement, ListedItem } from '../../leads/listed-lead.ts';
import type { ListingMark } from '../../leads/listing-mark.ts';
import type { PollId } from './status-rows.ts';

/** The numbers of leads that a poll recorded of a listing, or of a chunk of it. */
export interface RecordCounts {
  readonly listed: number;
  readonly new: number;
  readonly changed: number;
  readonly rejected: number;
}

/** How a poll ended. `partial`: it recorded part of the listing before it broke off. */
export type PollEnd =
  | { status: 'success'; bytes: number; httpStatus: number; mark: ListingMark | undefined }
  /** `mark`, if present, replaces the stored listing marker. */
  | { status: 'unchanged'; bytes: number; httpStatus: number; mark?: ListingMark | undefined }
  | { status: 'partial' | 'failed'; httpStatus: number | undefined; error: string };

/** The totals of a poll that has ended. */
export interface PollSummary extends RecordCounts {
  readonly status: PollEnd['status'];
  /** The number of leads in the last complete listing before this one. */
  readonly listedBefore: number;
  /** The first few distinct reasons for which leads were rejected, each with its path. */
  readonly rejectedFor: readonly string[];
}

/** The methods that polls call to record a listing. */
export interface LedgerPolling {
  /** Returns the listing marker of a source: that of its last complete listing. */
  listingMark(source: string): Promise<ListingMark | undefined>;
  /** Returns when the source last returned a complete listing, or confirmed that it is unchanged. */
  lastCompleteAt(source: string): Promise<Date | undefined>;
  /** Starts a poll. An earlier poll of the same source that never finished is recorded as failed. */
  startPoll(source: string): Promise<PollId>;
  /**
   * Begins a block of the listing and returns, in order, its elements whose content is not known. The caller passes these to `record`
   * before it begins the next block. Known elements count as seen in this poll; nothing is written.
   */
  unknownElements(poll: PollId, block: ListedBlock): Promise<readonly ListedElement[]>;
  /**
   * Records a chunk of a listing: stores its new and changed leads, and one pending delivery for each sink that asks for them, in one
   * transaction. A crash keeps both or neither. Leads that are known and unchanged write nothing.
   */
  record(poll: PollId, items: readonly ListedItem[]): Promise<RecordCounts>;
  /**
   * Finishes a poll. Stores the marker of a complete listing in the same transaction. Removes no lead. A complete listing with the
   * same blocks as the last one counts as `unchanged`.
   */
  finishPoll(poll: PollId, end: PollEnd): Promise<PollSummary>;
  /** Stores the origin of a source's base URL, unless the source has leads of another origin. Returns the stored origin. */
  recordOrigin(source: string, origin: string): Promise<string>;
  /** Removes the stored origin of a source, so that its next poll stores another. Returns false if there is no such source. */
  forgetOrigin(source: string): Promise<boolean>;
}
