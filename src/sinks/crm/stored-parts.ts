import type { CallLimits } from '../api-server.ts';
import { LeaseOver, SinkUnavailable } from '../sink.ts';

/** Whether the CRM may have stored something of the leads in an attempt of several requests. */
export class StoredParts {
  #areThere = false;

  /** Notes that the CRM may have stored something. */
  note(): void {
    this.#areThere = true;
  }

  /** Returns the limits with which requests are noted by which the CRM may have stored something. */
  noting(limits: CallLimits): CallLimits {
    return { ...limits, onStored: () => this.note() };
  }

  /** Returns a failure as it concerns the leads: a request that sends nothing of them may fail after another one was answered. */
  judge(failure: SinkUnavailable): SinkUnavailable {
    if (!this.#areThere || !failure.unsent || failure instanceof LeaseOver) return failure;
    const { message } = failure;
    return new SinkUnavailable(message, { ...failure, unsent: false, mayHaveArrived: true, cause: failure });
  }
}
