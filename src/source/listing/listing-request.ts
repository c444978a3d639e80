import { userAgent } from '../../platform/process/version.ts';
import type { Tokens } from '../auth/tokens.ts';
import { SourceError } from '../contract/source.ts';
import { callService, dropBody, type ServiceAnswer, type ServiceConnection } from '../http/service-call.ts';

const SUBJECT = 'The listing';

/** Asks for pages of one listing with one token, which is renewed at most once. */
export class ListingRequests {
  readonly #connection: ServiceConnection;
  readonly #tokens: Tokens;
  #renewed = false;

  constructor(connection: ServiceConnection, tokens: Tokens) {
    this.#connection = connection;
    this.#tokens = tokens;
  }

  /**
   * Gives an answer with status 200 and a JSON body, unread, or one with 304 when there was an `etag` to send.
   * @throws SourceError; the signal's reason when it aborts
   */
  async ask(url: string, etag: string | undefined, signal: AbortSignal): Promise<ServiceAnswer> {
    const token = await this.#tokens.current(signal);
    let response = await this.#ask(url, etag, token, signal);
    if (response.status === 401 && !this.#renewed) {
      this.#renewed = true;
      dropBody(response);
      response = await this.#ask(url, etag, await this.#tokens.instead(token, signal), signal);
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
      // Verbatim: a weak tag stays weak.
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
    return new SourceError('unauthorized', `The listing refuses a token that is new (401${reason}).`, {
      hint: 'See at the service whether this client may read leads.',
      httpStatus,
    });
  }
  if (httpStatus === 403) {
    return new SourceError('forbidden', 'The listing is forbidden to this client (403).', {
      hint: 'Its token lacks a scope, or its account a right: see scope of the source, and the account at the service.',
      httpStatus,
    });
  }
  if (httpStatus === 304) {
    return new SourceError('protocol', "The service says 'unchanged' (304) though it was not asked.", {
      hint: 'A cache in between may do that: let it pass the listing through.',
      httpStatus,
    });
  }
  return new SourceError('protocol', `The listing answers with status ${httpStatus} in place of 200.`, {
    hint: 'See whether base_url and leads_path of the source are right.',
    httpStatus,
  });
}

function faultOfType(contentType: string | null): SourceError | undefined {
  const type = contentType?.split(';')[0]?.trim().toLowerCase();
  if (type === 'application/json' || /^application\/[\w.-]+\+json$/.test(type ?? '')) return undefined;
  const said = type && /^[\w.+-]+\/[\w.+-]+$/.test(type) ? type : 'nothing that can be read';
  return new SourceError('protocol', `The listing is not JSON: its content type is ${said}.`, {
    hint: 'See whether base_url and leads_path lead to the service, and no login page or proxy answers for it.',
    httpStatus: 200,
  });
}

/** The error code in `WWW-Authenticate: Bearer … error="invalid_token"` (RFC 6750, section 3). */
function bearerError(header: string | null): string {
  const code = /\berror="([a-z_]{1,40})"/.exec(header ?? '')?.[1];
  return code === undefined ? '' : `, ${code}`;
}
