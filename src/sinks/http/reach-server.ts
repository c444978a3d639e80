import { networkFailure } from '../../platform/failures/network-failure.ts';
import { DeadlinePassed } from '../../platform/time/deadline.ts';
import { SinkUnavailable } from '../sink-unavailable.ts';

/** A server that a sink calls, as errors name it. */
interface CalledServer {
  /** Scheme, host and port, which are not secret. */
  readonly origin: string;
  /** The deadline of one call, in ms. */
  readonly timeoutMs: number;
}

/**
 * Runs `work`, which calls a server, and returns its result. After a failure, `isUnsent` returns whether no part of a lead was sent.
 * @throws SinkUnavailable for every failure of `work`, including the deadline and an aborted `stop`
 */
export async function reachServer<T>(
  server: CalledServer,
  stop: AbortSignal,
  work: () => Promise<T>,
  isUnsent: () => boolean = () => true,
): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (cause instanceof SinkUnavailable) throw cause;
    const { what, hint } = describeFailure(cause, stop, server);
    throw new SinkUnavailable(`${server.origin} ${what}.`, { hint, unsent: isUnsent(), cause });
  }
}

function describeFailure(
  cause: unknown,
  stop: AbortSignal,
  { timeoutMs }: CalledServer,
): { what: string; hint: string } {
  if (stop.aborted) return { what: 'had not answered when leadsync ended the attempt', hint: '' };
  if (!(cause instanceof DeadlinePassed)) return networkFailure(cause);
  const hint = 'Check whether the receiver hangs, or raise `timeout`.';
  return { what: `did not answer within ${timeoutMs / 1000} s`, hint };
}
