import type { CustomFetch } from 'openid-client';
import type { Dispatcher } from 'undici';
import { networkFailure } from '../platform/failures/network-failure.ts';
import { post } from '../platform/http/post.ts';
import { userAgent } from '../platform/process/version.ts';
import { DeadlinePassed } from '../platform/time/deadline.ts';
import { LoginFailed } from './contract.ts';

/** Maximum time for one request, including its answer, in ms. Short, because a person waits for it. */
const TIMEOUT_MS = 10_000;
/** Maximum length of an answer, in bytes. A longer answer counts as a failure. */
const MAX_BYTES = 1024 * 1024;

/** Returns the transport for openid-client, which limits the time and the length of each answer. @throws LoginFailed */
export function providerFetch(stop: AbortSignal, timeoutMs = TIMEOUT_MS): CustomFetch {
  return async (address, { method, headers, body }) => {
    const url = new URL(address);
    const { getGlobalDispatcher } = await import('undici'); // lazy: loaded at the first login
    const request = {
      origin: url.origin,
      path: url.pathname + url.search,
      method: method as Dispatcher.HttpMethod,
      headers: { ...headers, 'user-agent': userAgent },
      body: body == null ? null : String(body),
    };
    const limits = { timeoutMs, needsBody: true, maxBytes: MAX_BYTES, stop, beforeSending: () => undefined };
    try {
      const answer = await post(getGlobalDispatcher(), request, limits);
      if (!answer.isWhole) throw cutOff(url);
      // A Response of 204 or 304 may have no body (https://fetch.spec.whatwg.org/#null-body-status).
      return new Response([204, 205, 304].includes(answer.statusCode) ? null : answer.text, {
        status: answer.statusCode,
        headers: headersOf(answer.headers),
      });
    } catch (error) {
      if (error instanceof LoginFailed || stop.aborted) throw error;
      throw unreachable(url, error, timeoutMs);
    }
  };
}

function headersOf(received: Dispatcher.ResponseData['headers']): Headers {
  const headers = new Headers();
  for (const [name, lines] of Object.entries(received))
    for (const line of [lines].flat()) if (line !== undefined) headers.append(name, line);
  return headers;
}

function unreachable({ host }: URL, error: unknown, timeoutMs: number): LoginFailed {
  if (error instanceof DeadlinePassed)
    return new LoginFailed(
      'unreachable',
      `The login provider at ${host} did not answer within ${timeoutMs / 1000} s.`,
      'Try again in a minute.',
    );
  const { what, hint } = networkFailure(error);
  return new LoginFailed('unreachable', `The login provider at ${host} ${what}.`, hint);
}

function cutOff({ host }: URL): LoginFailed {
  return new LoginFailed(
    'protocol',
    `The answer from the login provider at ${host} was cut off or too long.`,
    'Check whether there is a proxy between leadsync and the provider.',
  );
}
