import type { Delivered, Refused } from '../../leads/outcome.ts';
import { SinkUnavailable } from '../sink.ts';

/** What a receiver said. */
export interface Answer {
  readonly httpStatus: number;
  /** The beginning of its body, at most 1,000 characters. */
  readonly text: string | undefined;
  /** Its Retry-After in ms from now, when it could be read. */
  readonly retryAfterMs: number | undefined;
}

/** Only these speak about what was sent. Anything else says that the endpoint, or the way to it, is not right. */
const REFUSED: ReadonlySet<number> = new Set([400, 413, 422]);

const HINTS: Readonly<Record<number, string>> = {
  401: "See whether the receiver's credentials are in `headers`, and whether `secret` is the one it verifies with.",
  403: 'See whether the receiver lets leadsync in: credentials in `headers`, `secret`, its list of allowed addresses.',
  404: 'See whether the path in `url` is right.',
  405: 'See whether the path in `url` is right: it does not take POST.',
  407: 'A proxy on the way asks for credentials.',
  410: 'It says that it is gone for good: correct `url`, or remove the sink. `leadsync resume` tries it again.',
  415: 'It does not take application/json: see whether the path in `url` is right.',
  429: 'It asks for fewer requests: lower `concurrency`.',
};

/** Decides what a receiver's answer means. @returns SinkUnavailable for the caller to throw */
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
  if (httpStatus < 400) return 'Redirects are not followed: set `url` to the address that it redirects to.';
  if (httpStatus < 500) return 'See what the receiver means by it, and whether `url` is right.';
  return 'If it stays so, look into the log of the receiver.';
}
