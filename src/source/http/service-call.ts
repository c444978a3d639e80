import type { Readable } from 'node:stream';
import { type Dispatcher, request } from 'undici';
import { codeOf } from '../../platform/failures/error-code.ts';
import { networkFailure } from '../../platform/failures/network-failure.ts';
import { readRetryAfter } from '../../platform/http/retry-after.ts';
import { SourceError } from '../contract/source.ts';
import { decoded, READ_CODINGS } from './content-coding.ts';

/** One request to the service. */
export interface ServiceCall {
  /** The grammatical subject of error messages, for example `The token endpoint`. */
  readonly subject: string;
  readonly url: string;
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
}

/** An answer from the service. */
export interface ServiceAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** The body without its Content-Encoding. It can be read once; call `dropBody` if it is not read to its end. */
  readonly body: Readable;
}

/** The connections for calls to a service, and the clock for the dates in Retry-After. */
export interface ServiceConnection {
  readonly dispatcher: Dispatcher;
  now(): Date;
}

/**
 * Sends a request. Returns any answer below 500 except 429 and redirects, with its body unread.
 * @throws SourceError `unreachable`, `server`, `rate-limited`, or `protocol` for a redirect; the signal's reason if it aborts
 */
export async function callService(
  { dispatcher, now }: ServiceConnection,
  { subject, url, method, headers, body }: ServiceCall,
  signal: AbortSignal,
): Promise<ServiceAnswer> {
  const answer = await ask();
  const fault = faultOfStatus(subject, answer, now());
  if (fault === undefined) return answer;
  dropBody(answer); // an unread body would hold the connection
  throw fault;

  async function ask(): Promise<ServiceAnswer> {
    try {
      const accepting = { 'accept-encoding': READ_CODINGS, ...headers };
      const options = { dispatcher, method, headers: accepting, body: body ?? null, signal };
      const { statusCode, headers: received, body: sent } = await request(url, options);
      const read = headersOf(received);
      return { status: statusCode, headers: read, body: decoded(sent, read.get('content-encoding')) };
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      throw unreachable(subject, url, error);
    }
  }
}

function headersOf(received: Dispatcher.ResponseData['headers']): Headers {
  const headers = new Headers();
  for (const [name, lines] of Object.entries(received))
    for (const line of [lines].flat()) if (line !== undefined) headers.append(name, line);
  return headers;
}

/** Destroys a body that will not be read, and frees its connection. */
export function dropBody({ body }: ServiceAnswer): void {
  body.destroy();
}

/** Returns the error for a request that failed before an answer arrived. */
export function unreachable(subject: string, url: string, error: unknown): SourceError {
  const host = new URL(url).host;
  const code = codeOf(error);
  if (code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT') {
    return new SourceError('unreachable', `${subject} at ${host} did not answer in time.`, {
      hint: "If the service is always this slow, raise the source's timeout.",
      cause: error,
    });
  }
  const { what, hint } = networkFailure(error);
  return new SourceError('unreachable', `${subject} cannot be reached: ${host} ${what}.`, {
    hint,
    cause: error,
  });
}

function faultOfStatus(
  subject: string,
  { status, headers }: ServiceAnswer,
  now: Date,
): SourceError | undefined {
  const times = { retryAfter: headers.get('retry-after'), date: headers.get('date') };
  const retryAfterMs = readRetryAfter(times, now);
  if (status === 429) {
    return new SourceError('rate-limited', `${subject} answers that there are too many requests (429).`, {
      hint: 'If this persists, poll less often.',
      httpStatus: status,
      retryAfterMs,
    });
  }
  if (status >= 500) {
    return new SourceError('server', `${subject} answers with a server error (${status}).`, {
      hint: 'If this persists, ask the operator of the service.',
      httpStatus: status,
      retryAfterMs,
    });
  }
  if (status < 300 || status >= 400 || status === 304) return undefined;
  return new SourceError(
    'protocol',
    `${subject} answers with a redirect (${status}), which leadsync does not follow.`,
    {
      hint: redirectHint(headers.get('location')),
      httpStatus: status,
    },
  );
}

function redirectHint(location: string | null): string {
  const target = location === null ? null : URL.parse(location);
  // Shows only the origin: the rest of an address may contain secrets.
  return target === null
    ? 'Correct base_url, or the path.'
    : `The redirect points to ${target.origin}: if that is the service, correct base_url.`;
}
