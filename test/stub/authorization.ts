import { createHash, randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { OAuthError } from './manner.ts';
import { sendText } from './manner.ts';

const CODE_LIFETIME_MS = 10 * 60_000;

interface CodeRecord {
  readonly redirectUri: string;
  readonly challenge: string | undefined;
  readonly scope: string | undefined;
  readonly expiresAt: number;
}

/** The authorization endpoint (RFC 6749, section 4.1.1; RFC 7636), where every user consents immediately. */
export class Authorization {
  readonly #clientId: string;
  readonly #now: () => Date;
  readonly #codes = new Map<string, CodeRecord>();

  constructor(clientId: string, now: () => Date) {
    this.#clientId = clientId;
    this.#now = now;
  }

  /** Answers a GET of the authorization address with a redirect that carries a code or an error. */
  answer(req: IncomingMessage, res: ServerResponse, url: URL): void {
    const query = url.searchParams;
    const redirectUri = query.get('redirect_uri') ?? '';
    const refusal = this.#refusal(req, query, redirectUri);
    if (refusal !== undefined) {
      page(res, ...refusal);
      return;
    }
    const target = new URL(redirectUri);
    const state = query.get('state');
    if (state !== null) target.searchParams.set('state', state);
    const fault = faultOf(query);
    if (fault === undefined) target.searchParams.set('code', this.#issue(redirectUri, query));
    else target.searchParams.set('error', fault);
    res.writeHead(302, { location: target.href, 'content-length': 0 });
    res.end();
  }

  /** Redeems a code, once. @returns the requested scope, or why the code is refused */
  redeem(
    code: string,
    redirectUri: string,
    verifier: string | undefined,
  ): { scope: string | undefined } | OAuthError {
    const record = this.#codes.get(code);
    this.#codes.delete(code);
    const right =
      record !== undefined &&
      record.expiresAt > this.#now().getTime() &&
      record.redirectUri === redirectUri &&
      provesChallenge(verifier, record.challenge);
    if (right) return { scope: record.scope };
    return {
      error: 'invalid_grant',
      description:
        'The provided authorization grant is invalid, expired, revoked, does not match the redirection URI used in the authorization request, or was issued to another client.',
    };
  }

  /** With a wrong client or address, nothing may be sent to that address (RFC 6749, section 4.1.2.1). */
  #refusal(req: IncomingMessage, query: URLSearchParams, redirectUri: string): [number, string] | undefined {
    if (req.method !== 'GET') return [405, 'The authorization page is read with GET.'];
    if (query.get('client_id') !== this.#clientId) return [401, 'Client authentication failed.'];
    if (!isAllowedRedirect(redirectUri)) return [400, 'The redirect uri included is not valid.'];
    return undefined;
  }

  #issue(redirectUri: string, query: URLSearchParams): string {
    const code = randomBytes(24).toString('base64url');
    this.#codes.set(code, {
      redirectUri,
      challenge: query.get('code_challenge') ?? undefined,
      scope: query.get('scope') ?? undefined,
      expiresAt: this.#now().getTime() + CODE_LIFETIME_MS,
    });
    return code;
  }
}

function faultOf(query: URLSearchParams): string | undefined {
  if (query.get('response_type') !== 'code') return 'unsupported_response_type';
  if (query.has('code_challenge') && query.get('code_challenge_method') !== 'S256') return 'invalid_request';
  return undefined;
}

/** Whether the address is a loopback address with any port (RFC 8252, section 7.3) or an https address. */
function isAllowedRedirect(address: string): boolean {
  if (!URL.canParse(address)) return false;
  const { protocol, hostname, hash } = new URL(address);
  if (hash !== '') return false;
  return (
    protocol === 'https:' || (protocol === 'http:' && ['127.0.0.1', '[::1]', 'localhost'].includes(hostname))
  );
}

function provesChallenge(verifier: string | undefined, challenge: string | undefined): boolean {
  if (challenge === undefined) return verifier === undefined;
  return verifier !== undefined && createHash('sha256').update(verifier).digest('base64url') === challenge;
}

function page(res: ServerResponse, status: number, text: string): void {
  sendText(res, status, `<!doctype html><title>${text}</title><h1>${text}</h1>\n`, {
    'content-type': 'text/html; charset=utf-8',
  });
}
