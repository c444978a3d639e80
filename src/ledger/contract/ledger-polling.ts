import type { BlockHead, ListedBlock, ListedElement, ListedItem } from '../../leads/listed-lead.ts';
import type { ListingMarker } from '../../leads/listing-marker.ts';
import type { PollId } from './status-rows.ts';

/** How many leads a poll recorded from a listing, or from a chunk of it. */
export interface RecordCounts {
  readonly listed: number;
  readonly new: number;
  readonly changed: number;
  readonly rejected: number;
}

/** How a poll ended. `partial`: the poll recorded part of the listing and then failed. */
export type PollEnd =
  | { status: 'success'; bytes: number; httpStatus: number; mark: ListingMarker | undefined }
  /** `mark`, if present, replaces the stored listing marker. */
  | { status: 'unchanged'; bytes: number; httpStatus: number; mark?: ListingMarker | undefined }
  | { status: 'partial' | 'failed'; httpStatus: number | undefined; error: string };

/** The totals of a poll that has ended. */
export interface PollSummary extends RecordCounts {
  readonly status: PollEnd['status'];
  /** The number of leads in the last complete listing before this poll. */
  readonly listedBefore: number;
  /** The first few distinct reasons for rejections, each with the path of the faulty field. */
  readonly rejectedFor: readonly string[];
  /** The number of leads that were rejected for other reasons. */
  readonly rejectedForOthers: number;
}

/** The methods that polls call to record a listing. */
export interface LedgerPolling {
  /** Returns the marker of a source's last complete listing; undefined if there is none. */
  listingMark(source: string): Promise<ListingMarker | undefined>;
  /** Returns when the source last returned a complete listing, or confirmed that its listing is unchanged; undefined if never. */
  lastCompleteAt(source: string): Promise<Date | undefined>;
  /**
   * Starts a poll. Records an earlier poll of the same source as failed if it never finished; in a ledger on a server, that poll then records nothing
   * more, in whichever process it runs.
   * @param duty the token under which this process holds the duty to poll the source, where processes of several machines share the ledger
   * @throws LedgerError `fenced` if the duty has another token by now
   */
  startPoll(source: string, duty?: string): Promise<PollId>;
  /**
   * Begins blocks of the listing up to the first one that the last complete listing did not contain, and returns how many it began. All of
   * their elements count as seen in this poll. The caller passes the next block to `unknownElements` or `record`. Writes nothing.
   */
  beginKnown(poll: PollId, blocks: readonly BlockHead[]): Promise<number>;
  /**
   * Begins a block of the listing. Returns, in order, the elements of the block whose content is not known or whose lead was gone. The
   * caller passes them to `record` before it begins the next block. The other elements count as seen in this poll. Writes nothing.
   */
  unknownElements(poll: PollId, block: ListedBlock): Promise<readonly ListedElement[]>;
  /**
   * Records a chunk of a listing. One transaction stores the new and changed leads and, for each sink that subscribes to their events, one
   * pending delivery for each lead; after a crash, either both are stored or neither. Writes nothing for known, unchanged leads.
   * @param block if given, begins this block first, in place of `unknownElements`; `items` are then all of its elements. Saves two calls
   * for a block that is probably all new
   */
  record(poll: PollId, items: readonly ListedItem[], block?: BlockHead): Promise<RecordCounts>;
  /**
   * Finishes a poll, and stores the marker of a complete listing in the same transaction. Removes no lead. If a complete listing has the
   * same blocks as the previous complete listing, the poll counts as `unchanged`.
   */
  finishPoll(poll: PollId, end: PollEnd): Promise<PollSummary>;
  /** Stores the origin of a source's base URL, unless the source has leads from another origin. Returns the stored origin. */
  recordOrigin(source: string, origin: string): Promise<string>;
  /**
   * Removes the stored origin of a source, so that the next poll of the source stores a new origin. Returns false if there is no such
   * source.
   */
  forgetOrigin(source: string): Promise<boolean>;
}
