import type { PollId } from '../contract/status-rows.ts';
import type { RejectionReasons } from '../rules/recording/rejection-reasons.ts';
import type { IdSet } from './id-set.ts';
import type { PollBlocks } from './poll-blocks.ts';

/** The state of a poll that is running. */
export interface OpenPoll {
  readonly id: PollId;
  readonly source: string;
  /**
   * A new lead counts as listed before the sinks were configured if its client created it before this time, in ms since 1970. Positive
   * infinity if every new lead does, negative infinity if none does.
   */
  oldBefore: number;
  /** The number of leads in the last complete listing. */
  readonly listedBefore: number;
  /** When the last complete listing was read or confirmed, in ms since 1970; null if there is none. */
  readonly completeBefore: number | null;
  /** The numbers of the leads seen in this poll, to detect repeats within the listing and leads that are gone. */
  readonly seen: IdSet;
  /**
   * The numbers of leads for which this listing has so far contained only content that an earlier poll rejected as a repeat. If the rest of
   * the listing does not contain the known content, `finish` accepts the rejected content.
   */
  readonly undecided: IdSet;
  readonly blocks: PollBlocks;
  rejectedFor: RejectionReasons;
  new: number;
  changed: number;
  rejected: number;
}
