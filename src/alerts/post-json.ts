import { networkFailure } from '../platform/failures/network-failure.ts';
import { userAgent } from '../platform/process/version.ts';
import { DeadlinePassed, withinDeadline } from '../platform/time/deadline.ts';
import { DestinationError } from './destination.ts';

/** Maximum time of a request, including its answer, in ms. */
export const TIMEOUT_MS = 15_000;

/** Posts JSON. Any 2xx status is success. Errors show only the origin of the URL, because its path is a secret. @throws DestinationError */
export async function postJson(
  url: URL,
  body: string,
  headers: Readonly<Record<string, string>>,
  stop: AbortSignal,
): Promise<void> {
  const status = await reach(url, stop, async (signal) => {
    const { request } = await import('undici'); // loaded here, because most commands do not need this large package
    const answer = await request(url, {
      method: 'POST',
      headers: { 'user-agent': userAgent, ...headers, 'content-type': 'application/json' },
      body,
      signal,
    });
    await answer.body.dump({ limit: 64 * 1024, signal });
    return answer.statusCode;
  });
  if (status >= 200 && status < 300) return;
  throw new DestinationError(`${url.origin} answered ${status}.`, hintFor(status));
}

/** Checks that the server answers an HTTP request. @throws DestinationError */
export async function reachServer(url: URL, stop: AbortSignal): Promise<void> {
  await reach(url, stop, async (signal) => {
    const { request } = await import('undici');
    const answer = await request(url.origin, {
      method: 'HEAD',
      headers: { 'user-agent': userAgent },
      signal,
    });
    await answer.body.dump();
  });
}

async function reach<T>(url: URL, stop: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  try {
    return await withinDeadline(TIMEOUT_MS, stop, work);
  } catch (cause) {
    if (cause instanceof DeadlinePassed) {
      const what = `${url.origin} did not answer within ${TIMEOUT_MS / 1000} s.`;
      throw new DestinationError(what, 'Check whether the server hangs.', cause);
    }
    const { what, hint } = networkFailure(cause);
    throw new DestinationError(`${url.origin} ${what}.`, hint, cause);
  }
}

function hintFor(status: number): string {
  if ([401, 403, 404, 410].includes(status)) return 'Check its address and secret in `alerts.to`.';
  if (status >= 300 && status < 400)
    return 'The server redirects requests: set the new address in `alerts.to`.';
  return 'leadsync retries automatically.';
}
