import type { Delivered, Refused } from '../../leads/outcome.ts';
import { SinkUnavailable } from '../sink-unavailable.ts';

/** An answer from a receiver. */
export interface Answer {
  readonly httpStatus: number;
  /** The beginning of the body, up to 1,000 characters. */
  readonly text: string | undefined;
  /** Retry-After in ms from now; undefined if it is absent or unreadable. */
  readonly retryAfterMs: number | undefined;
}

/** The statuses that blame the lead. Every other error blames the endpoint or the network. */
const REFUSED: ReadonlySet<number> = new Set([400, 413, 422]);

const HINTS: Readonly<Record<number, string>> = {
  401: 'Check that `headers` contains the credentials for the receiver, and that the receiver verifies with the same `secret`.',
  403: 'Check the credentials in `headers`, the `secret`, and the addresses that the receiver allows.',
  404: 'Check the path in `url`.',
  405: 'Check the path in `url`: the receiver does not accept POST there.',
  407: 'A proxy asks for credentials, and leadsync does not support proxies.',
  410: 'The receiver answered 410 Gone. Correct `url`, or remove the sink. `leadsync resume` tries it again.',
  415: 'Check the path in `url`: the receiver does not accept application/json there.',
  429: 'The receiver asks for fewer requests: lower `concurrency`.',
};

/** Returns the outcome that a receiver's answer means, or a SinkUnavailable for the caller to throw. */
export function judgeAnswer(origin: string, answer: Answer): Delivered | Refused | SinkUnavailable {
  const { httpStatus, text, retryAfterMs } = answer;
  if (httpStatus >= 200 && httpStatus < 300) return { kind: 'delivered', httpStatus };
  if (REFUSED.has(httpStatus)) {
    const reason = `${origin} refused the lead (HTTP ${httpStatus}).`;
    return { kind: 'refused', reason, httpStatus, answer: text };
  }
  return new SinkUnavailable(`${origin} answered with HTTP ${httpStatus}.`, {
    hint: HINTS[httpStatus] ?? hintOf(httpStatus),
    httpStatus,
    answer: text,
    retryAfterMs,
    gone: httpStatus === 410,
  });
}

function hintOf(httpStatus: number): string {
  if (httpStatus < 400)
    return 'leadsync does not follow redirects. Set `url` to the address that the redirect points to.';
  if (httpStatus < 500) return 'Find out what the receiver means by this status, and check `url`.';
  return "If this continues, check the receiver's log.";
}
