import { userAgent } from '../../platform/process/version.ts';
import type { TokenProvider } from '../auth/token-provider.ts';
import { SourceError } from '../contract/source.ts';
import { callService, dropBody, type ServiceAnswer, type ServiceConnection } from '../http/service-call.ts';

const SUBJECT = 'The listing';

/** Requests the pages of one listing, and renews the token at most once. */
export class ListingRequests {
  readonly #connection: ServiceConnection;
  readonly #tokens: TokenProvider;
  #renewed = false;

  constructor(connection: ServiceConnection, tokens: TokenProvider) {
    this.#connection = connection;
    this.#tokens = tokens;
  }

  /**
   * Returns an answer with status 200 and an unread JSON body. If an `etag` is given, the answer may have status 304 instead.
   * @throws SourceError; the signal's reason if it aborts
   */
  async ask(url: string, etag: string | undefined, signal: AbortSignal): Promise<ServiceAnswer> {
    const token = await this.#tokens.current(signal);
    let response = await this.#ask(url, etag, token, signal);
    if (response.status === 401 && !this.#renewed) {
      this.#renewed = true;
      dropBody(response);
      response = await this.#ask(url, etag, await this.#tokens.otherThan(token, signal), signal);
    }
    const fault = faultOf(response, etag !== undefined);
    if (fault === undefined) return response;
    dropBody(response);
    throw fault;
  }

  #ask(url: string, etag: string | undefined, token: string, signal: AbortSignal): Promise<ServiceAnswer> {
    const headers = {
      authorization: `Bearer ${token}`,
      accept: 'application/json',
      'user-agent': userAgent,
      // Sent as received: a weak tag stays weak.
      ...(etag === undefined ? {} : { 'if-none-match': etag }),
    };
    return callService(this.#connection, { subject: SUBJECT, url, method: 'GET', headers }, signal);
  }
}

function faultOf(response: ServiceAnswer, conditional: boolean): SourceError | undefined {
  const { status: httpStatus, headers } = response;
  if (httpStatus === 200) return faultOfType(headers.get('content-type'));
  if (httpStatus === 304 && conditional) return undefined;
  if (httpStatus === 401) {
    const reason = bearerError(headers.get('www-authenticate'));
    return new SourceError('unauthorized', `The listing refuses a new token (401${reason}).`, {
      hint: 'Check at the service whether this client may read leads.',
      httpStatus,
    });
  }
  if (httpStatus === 403) {
    return new SourceError('forbidden', 'This client may not read the listing (403).', {
      hint: "The token lacks a scope, or the account lacks a permission: check the source's scope, and the account at the service.",
      httpStatus,
    });
  }
  if (httpStatus === 304) {
    return new SourceError(
      'protocol',
      'The service answers "not modified" (304) to a request without a condition.',
      {
        hint: 'A cache between leadsync and the service may cause this: exclude the listing from it.',
        httpStatus,
      },
    );
  }
  return new SourceError('protocol', `The listing answers with status ${httpStatus} instead of 200.`, {
    hint: "Check the source's base_url and leads_path.",
    httpStatus,
  });
}

function faultOfType(contentType: string | null): SourceError | undefined {
  const type = contentType?.split(';')[0]?.trim().toLowerCase();
  if (type === 'application/json' || /^application\/[\w.-]+\+json$/.test(type ?? '')) return undefined;
  const said = type && /^[\w.+-]+\/[\w.+-]+$/.test(type) ? type : 'missing or unreadable';
  return new SourceError('protocol', `The listing is not JSON: its content type is ${said}.`, {
    hint: 'Check that base_url and leads_path lead to the service, and not to a login page or a proxy.',
    httpStatus: 200,
  });
}

/** Returns `, ` and the error code in `WWW-Authenticate: Bearer … error="invalid_token"` (RFC 6750, section 3); empty if there is none. */
function bearerError(header: string | null): string {
  const code = /\berror="([a-z_]{1,40})"/.exec(header ?? '')?.[1];
  return code === undefined ? '' : `, ${code}`;
}
