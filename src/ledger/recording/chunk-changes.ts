/** The changes that one chunk makes. If the transaction fails, `#add` undoes them in the state of the poll. */
export interface ChunkChanges {
  /**
   * The time inside the transaction, in ms since 1970. It may be later than the time of the call, because the transaction first waits for
   * the write lock.
   */
  now: number;
  /** The version numbers of new leads that were listed before the sinks were configured. */
  readonly old: number[];
  /** The version numbers of the other new leads. */
  readonly fresh: number[];
  /** Leads that this poll first saw in this chunk. */
  readonly seen: number[];
  /** Leads that became undecided in this chunk. */
  readonly undecided: number[];
  /** The number of leads that were gone and are listed again. */
  back: number;
}
