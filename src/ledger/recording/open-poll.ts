import type { PollId } from '../contract/status-rows.ts';
import type { IdSet } from './id-set.ts';
import type { PollBlocks } from './poll-blocks.ts';

/** What one poll has met so far. */
export interface OpenPoll {
  readonly id: PollId;
  readonly source: string;
  /** A lead that is new in this poll and was created before this time was listed before the source's sinks were there. */
  oldBefore: number;
  readonly listedBefore: number;
  readonly completeBefore: number | null;
  /** The leads met, by number: tells a repeat within the listing, and which known leads it no longer has. */
  readonly seen: IdSet;
  /** Leads of which so far only a content was met that is set aside: it is taken at the end, unless the known one comes. */
  readonly undecided: IdSet;
  readonly blocks: PollBlocks;
  rejectedFor: ReadonlySet<string>;
  new: number;
  changed: number;
  rejected: number;
}
