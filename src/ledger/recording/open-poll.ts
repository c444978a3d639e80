import type { PollId } from '../contract/status-rows.ts';
import type { IdSet } from './id-set.ts';
import type { PollBlocks } from './poll-blocks.ts';

/** The state of a poll that is running. */
export interface OpenPoll {
  readonly id: PollId;
  readonly source: string;
  /**
   * A new lead counts as listed before the sinks were configured if its client created it before this time, in ms since 1970;
   * infinite if every new lead does, or none.
   */
  oldBefore: number;
  /** The number of leads in the last complete listing. */
  readonly listedBefore: number;
  /** When the last complete listing was read or confirmed, in ms since 1970; null if there is none. */
  readonly completeBefore: number | null;
  /** The numbers of the leads seen in this poll: detects repeats within the listing, and leads that are gone. */
  readonly seen: IdSet;
  /**
   * Leads for which this listing so far contains only a content that an earlier poll rejected as a repeat. `finish` accepts that
   * content if the listing does not contain the known one.
   */
  readonly undecided: IdSet;
  readonly blocks: PollBlocks;
  rejectedFor: ReadonlySet<string>;
  new: number;
  changed: number;
  rejected: number;
}
