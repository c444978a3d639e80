import type { PollSummary } from '../../ledger/contract/ledger-polling.ts';

type Rejections = Pick<PollSummary, 'status' | 'rejected' | 'rejectedFor' | 'rejectedForOthers'>;

/** Remembers why the last complete listing of a source was rejected in part, so that the log does not repeat it at every poll. */
export class ReportedRejections {
  #reported: string | undefined;

  /** Whether an earlier poll reported the same rejections, and no complete listing since was free of them. Remembers these. */
  take({ status, rejected, rejectedFor, rejectedForOthers }: Rejections): boolean {
    const text = rejected === 0 ? undefined : JSON.stringify([rejected, rejectedFor, rejectedForOthers]);
    const isRepeated = text !== undefined && text === this.#reported;
    // A listing that has not changed is not read, so it shows no rejections.
    if (text !== undefined || status === 'success') this.#reported = text;
    return isRepeated;
  }
}
