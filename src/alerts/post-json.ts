import { networkFailure } from '../platform/failures/network-failure.ts';
import { userAgent } from '../platform/process/version.ts';
import { DeadlinePassed, withinDeadline } from '../platform/time/deadline.ts';
import { DestinationError } from './destination.ts';

/** Maximum time for a request, including its answer, in ms. */
export const TIMEOUT_MS = 15_000;

/** A body to post, and its headers. */
interface Posted {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Posts JSON. Any 2xx status is success. Errors show only the origin of the URL, because its path is a secret. @throws DestinationError */
export async function postJson(
  url: URL,
  body: string,
  headers: Readonly<Record<string, string>>,
  stop: AbortSignal,
): Promise<void> {
  const json = { body, headers: { ...headers, 'content-type': 'application/json' } };
  requireSuccess(url, await reach(url, stop, 'POST', json), 'alerts.to');
}

/** Checks that the server answers an HTTP request. @throws DestinationError */
export async function reachServer(url: URL, stop: AbortSignal): Promise<void> {
  await reach(new URL(url.origin), stop, 'HEAD');
}

/** Sends a request and returns the status of its answer. @throws DestinationError if there is no answer */
export async function reach(
  url: URL,
  stop: AbortSignal,
  method: 'GET' | 'HEAD' | 'POST',
  { body, headers }: Partial<Posted> = {},
): Promise<number> {
  try {
    return await withinDeadline(TIMEOUT_MS, stop, async (signal) => {
      const { request } = await import('undici'); // loaded here, because most commands do not need this large package
      const answer = await request(url, {
        method,
        headers: { 'user-agent': userAgent, ...headers },
        ...(body === undefined ? {} : { body }),
        signal,
      });
      await answer.body.dump({ limit: 64 * 1024, signal });
      return answer.statusCode;
    });
  } catch (cause) {
    if (cause instanceof DeadlinePassed) {
      const what = `${url.origin} did not answer within ${TIMEOUT_MS / 1000} s.`;
      throw new DestinationError(what, 'Check whether the server is hanging.', cause);
    }
    const { what, hint } = networkFailure(cause);
    throw new DestinationError(`${url.origin} ${what}.`, hint, cause);
  }
}

/** Requires a 2xx status. `option` names the part of the configuration that contains the URL. @throws DestinationError */
export function requireSuccess(url: URL, status: number, option: string): void {
  if (status < 200 || status >= 300)
    throw new DestinationError(`${url.origin} answered ${status}.`, hintFor(status, option));
}

function hintFor(status: number, option: string): string {
  if ([401, 403, 404, 410].includes(status)) return `Check its address and secret in \`${option}\`.`;
  if (status >= 300 && status < 400)
    return `The server redirects requests: set the new address in \`${option}\`.`;
  return 'leadsync retries automatically.';
}
