import type { CallLimits } from '../http/api-server.ts';
import { LeaseOver, SinkUnavailable } from '../sink-unavailable.ts';

/** Tracks whether the CRM may have stored data from the leads, in an attempt that consists of several requests. */
export class StoredParts {
  #areThere = false;

  /** Records that the CRM may have stored something. */
  note(): void {
    this.#areThere = true;
  }

  /** Returns limits that call `note` after each request with which the CRM may have stored something. */
  noting(limits: CallLimits): CallLimits {
    return { ...limits, onStored: () => this.note() };
  }

  /** Returns the failure as it affects the leads: even if the failed request sent no data from them, an earlier request may have. */
  judge(failure: SinkUnavailable): SinkUnavailable {
    if (!this.#areThere || !failure.unsent || failure instanceof LeaseOver) return failure;
    const { message } = failure;
    return new SinkUnavailable(message, { ...failure, unsent: false, mayHaveArrived: true, cause: failure });
  }
}
