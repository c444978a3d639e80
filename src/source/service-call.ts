import { type Dispatcher, fetch, type HeadersInit, type Response } from 'undici';
import { codeOf, networkFailure } from '../platform/network-failure.ts';
import { readRetryAfter } from '../platform/retry-after.ts';
import { isBlockedPort } from './blocked-ports.ts';
import { SourceError } from './source.ts';

/** One request to the service. */
export interface ServiceCall {
  /** What is asked, for messages: `The token endpoint`. */
  readonly subject: string;
  readonly url: string;
  readonly method: 'GET' | 'POST';
  readonly headers: HeadersInit;
  readonly body?: string | undefined;
}

/** What every call to a service needs: connections, and the time for Retry-After. */
export interface ServiceConnection {
  readonly dispatcher: Dispatcher;
  now(): Date;
}

/**
 * Calls the service and gives any answer below 500 but 429 and redirects, the body unread.
 * @throws SourceError `unreachable`, `server`, `rate-limited`, or `protocol` for a redirect; the signal's reason when it aborts
 */
export async function callService(
  { dispatcher, now }: ServiceConnection,
  { subject, url, method, headers, body }: ServiceCall,
  signal: AbortSignal,
): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(url, {
      dispatcher,
      method,
      headers,
      body: body ?? null,
      signal,
      redirect: 'manual',
    });
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw unreachable(subject, url, error);
  }
  const fault = faultOfStatus(subject, response, now());
  if (fault === undefined) return response;
  await dropBody(response); // an unread body would keep the connection
  throw fault;
}

/** Lets go of a body that nobody will read. */
export async function dropBody(response: Response): Promise<void> {
  await response.body?.cancel().catch(() => undefined); // it may have failed already; nobody wants it
}

/** A connection that failed before there was an answer. */
export function unreachable(subject: string, url: string, error: unknown): SourceError {
  const host = new URL(url).host;
  const code = codeOf(error);
  if (code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT') {
    return new SourceError('unreachable', `${subject} at ${host} does not answer in time.`, {
      hint: 'If the service is slow as a rule, raise the timeout of the source.',
      cause: error,
    });
  }
  if (code === undefined && isBlockedPort(url)) {
    const { port } = new URL(url);
    return new SourceError(
      'unreachable',
      `${subject} cannot be asked at ${host}: HTTP does not use port ${port}.`,
      {
        hint: 'It is kept for another protocol. Correct the port in base_url.',
        cause: error,
      },
    );
  }
  const { what, hint } = networkFailure(error);
  return new SourceError('unreachable', `${subject} cannot be reached: ${host} ${what}.`, {
    hint,
    cause: error,
  });
}

function faultOfStatus(subject: string, { status, headers }: Response, now: Date): SourceError | undefined {
  const retryAfterMs = readRetryAfter(headers.get('retry-after'), now);
  if (status === 429) {
    return new SourceError('rate-limited', `${subject} says that it is asked too often (429).`, {
      hint: 'If it stays so, poll less often.',
      httpStatus: status,
      retryAfterMs,
    });
  }
  if (status >= 500) {
    return new SourceError('server', `${subject} answers with an error of its own (${status}).`, {
      hint: 'If it stays so, ask those who run the service.',
      httpStatus: status,
      retryAfterMs,
    });
  }
  if (status < 300 || status >= 400 || status === 304) return undefined;
  return new SourceError(
    'protocol',
    `${subject} answers with a redirect (${status}), which is not followed.`,
    {
      hint: redirectHint(headers.get('location')),
      httpStatus: status,
    },
  );
}

function redirectHint(location: string | null): string {
  const target = location === null ? null : URL.parse(location);
  // Only the origin is shown: the rest of an address can hold anything.
  return target === null
    ? 'Correct base_url, or the path.'
    : `It points to ${target.origin}: if that is the service, correct base_url.`;
}
