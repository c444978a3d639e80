import {
  AuthorizationResponseError,
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  ClientError,
  ClientSecretPost,
  Configuration,
  calculatePKCECodeChallenge,
  clientCredentialsGrant,
  customFetch,
  refreshTokenGrant,
  type TokenEndpointResponse,
} from 'openid-client';
import type { Dispatcher } from 'undici';
import { userAgent } from '../../platform/process/version.ts';
import type { Clock } from '../../platform/time/clock.ts';
import type { SourceOptions } from '../contract/options.ts';
import { SourceError } from '../contract/source.ts';
import { callService, unreachable } from '../http/service-call.ts';
import type { Token, TokenOrigin } from './token.ts';
import { toTokenResponse } from './token-answer.ts';
import { accessRefused, GrantRefused, readRefusal } from './token-refusal.ts';

/** Maximum length of an answer, in bytes; leadsync stops reading a longer answer. */
const MAX_ANSWER_BYTES = 1024 * 1024;
/** Maximum lifetime of a token, in ms; a longer lifetime could exceed the range of Date. */
const MAX_LIFETIME_MS = 10 * 365 * 86_400_000;
/** Characters that a header can carry (RFC 6750, section 2.1, allows fewer). */
const SENDABLE = /^[\x21-\x7e]+$/;
const SUBJECT = 'The token endpoint';

/** The values that a login keeps from the authorization request to the redirect (RFC 6749, section 4.1; RFC 7636). */
export interface LoginSecrets {
  readonly redirectUri: string;
  readonly state: string;
  readonly verifier: string;
}

/** Dependencies of a token endpoint. */
export interface TokenEndpointParts {
  /** The source's name, for messages. */
  readonly source: string;
  /** The connections, which the source also uses for the listing. */
  readonly dispatcher: Dispatcher;
  readonly clock: Clock;
  /** Aborts requests in progress. */
  readonly closing: AbortSignal;
}

/** The service's OAuth 2.0 endpoints. Every method except `addressFor` sends one request, and throws SourceError if it fails. */
export class TokenEndpoint {
  readonly #options: SourceOptions;
  readonly #parts: TokenEndpointParts;
  readonly #config: Configuration;

  constructor(options: SourceOptions, parts: TokenEndpointParts) {
    this.#options = options;
    this.#parts = parts;
    const server = {
      issuer: options.base_url,
      token_endpoint: options.base_url + options.token_path,
      authorization_endpoint: options.base_url + options.authorize_path,
    };
    // Not HTTP Basic: some services do not decode its form-encoded secret.
    const auth = ClientSecretPost(options.client_secret.reveal());
    this.#config = new Configuration(server, options.client_id, {}, auth);
    if (options.base_url.startsWith('http:')) allowInsecureRequests(this.#config);
    this.#config.timeout = 0; // `#post` has its own timeout, which covers the body as well
    this.#config[customFetch] = (url, init) => this.#post(url, init.headers, init.body);
  }

  /** Requests a token with the client credentials grant. @throws SourceError, GrantRefused */
  clientCredentials(): Promise<Token> {
    const { scope } = this.#options;
    return this.#obtain('client_credentials', 'client_credentials', () =>
      clientCredentialsGrant(this.#config, scope === undefined ? {} : { scope }),
    );
  }

  /** Refreshes a token; keeps the old refresh token if the answer has none (RFC 6749, section 6). @throws SourceError, GrantRefused */
  async refresh(refreshToken: string, origin: TokenOrigin): Promise<Token> {
    const token = await this.#obtain('refresh_token', origin, () =>
      refreshTokenGrant(this.#config, refreshToken),
    );
    return { ...token, refreshToken: token.refreshToken ?? refreshToken };
  }

  /** Returns the authorization URL, which the person who logs in must open. */
  async addressFor({ redirectUri, state, verifier }: LoginSecrets): Promise<string> {
    const { scope } = this.#options;
    return buildAuthorizationUrl(this.#config, {
      redirect_uri: redirectUri,
      state,
      code_challenge: await calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      ...(scope === undefined ? {} : { scope }),
    }).href;
  }

  /** Exchanges a code for a token. @param answer the state, and a code or an error. @throws SourceError, GrantRefused */
  redeem(answer: URLSearchParams, { redirectUri, state, verifier }: LoginSecrets): Promise<Token> {
    const current = new URL(redirectUri);
    current.search = answer.toString();
    const checks = { expectedState: state, pkceCodeVerifier: verifier };
    return this.#obtain('authorization_code', 'authorization_code', () =>
      authorizationCodeGrant(this.#config, current, checks),
    );
  }

  async #obtain(
    grant: string,
    origin: TokenOrigin,
    ask: () => Promise<TokenEndpointResponse>,
  ): Promise<Token> {
    try {
      const answer = await ask();
      return this.#tokenOf(answer, origin);
    } catch (error) {
      throw explain(error, grant, this.#parts.source, this.#options);
    }
  }

  #tokenOf(answer: TokenEndpointResponse, origin: TokenOrigin): Token {
    if (!SENDABLE.test(answer.access_token)) throw notOAuth();
    const receivedAt = this.#parts.clock.now();
    const { expires_in } = answer;
    const lifetimeMs = expires_in === undefined ? undefined : Math.min(expires_in * 1000, MAX_LIFETIME_MS);
    const expiresAt = lifetimeMs === undefined ? undefined : new Date(receivedAt.getTime() + lifetimeMs);
    return {
      accessToken: answer.access_token,
      refreshToken: answer.refresh_token || undefined,
      origin,
      receivedAt,
      expiresAt,
    };
  }

  #form(body: unknown): string {
    const form = new URLSearchParams(String(body));
    const { redirect_uri } = this.#options;
    // openid-client normalizes the address; the service compares it character by character.
    if (redirect_uri !== undefined && form.has('redirect_uri')) form.set('redirect_uri', redirect_uri);
    return form.toString();
  }

  /** The transport of openid-client: it uses the source's connections and limits the time and the length of the whole answer. */
  async #post(url: string, headers: Record<string, string>, body: unknown): Promise<Response> {
    const { dispatcher, clock, closing } = this.#parts;
    const deadline = AbortSignal.timeout(this.#options.timeout);
    const signal = AbortSignal.any([closing, deadline]);
    const call = {
      subject: SUBJECT,
      url,
      method: 'POST',
      headers: { ...headers, 'user-agent': userAgent },
      body: this.#form(body),
    } as const;
    try {
      const response = await callService({ dispatcher, now: () => clock.now() }, call, signal);
      const text = await readText(response.body).catch((error) => {
        throw signal.aborted || error instanceof SourceError ? error : brokenOff(url, error);
      });
      if (response.status === 200 && isCutOff(text)) throw cutOff(url, response.status);
      return toTokenResponse(response.status, response.headers, text);
    } catch (error) {
      if (error instanceof SourceError) throw error;
      if (deadline.aborted) {
        throw new SourceError('unreachable', `${SUBJECT} at ${new URL(url).host} did not answer in time.`, {
          hint: "If the service is always this slow, raise the source's timeout.",
        });
      }
      throw unreachable(SUBJECT, url, error);
    }
  }
}

async function readText(body: AsyncIterable<Uint8Array>): Promise<string> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of body) {
    size += part.length;
    if (size > MAX_ANSWER_BYTES) {
      throw new SourceError('protocol', `${SUBJECT} sent an answer that is too long for a token.`, {
        hint: CHECK_PATH,
      });
    }
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

/** Whether the text is a truncated JSON object. */
function isCutOff(text: string): boolean {
  const trimmed = text.trim();
  return trimmed.startsWith('{') && !trimmed.endsWith('}');
}

const ENDS_EARLY =
  'If this persists, check whether a proxy truncates answers, or ask the operator of the service.';

function brokenOff(url: string, cause: unknown): SourceError {
  const message = `${SUBJECT} at ${new URL(url).host} closed the connection before the end of its answer.`;
  return new SourceError('unreachable', message, { hint: ENDS_EARLY, cause });
}

function cutOff(url: string, httpStatus: number): SourceError {
  const message = `${SUBJECT} at ${new URL(url).host} sent a truncated answer (status ${httpStatus}).`;
  return new SourceError('protocol', message, { hint: ENDS_EARLY, httpStatus });
}

const CHECK_PATH = "Check the source's base_url and token_path.";

/** Returns the error for a missing token endpoint. The usual cause is a `base_url` that already ends in the path that another option appends. */
function notThere({ base_url, token_path }: SourceOptions): SourceError {
  const asked = base_url + token_path;
  return new SourceError('protocol', `There is no token endpoint at ${asked} (404).`, {
    hint: "Correct the source's base_url, which must not end in the path of the listing, or its token_path.",
    httpStatus: 404,
  });
}

/** Returns the error for a failed request. Omits the error from openid-client, even as its cause: it contains the whole answer, including tokens. */
function explain(error: unknown, grant: string, source: string, options: SourceOptions): SourceError {
  if (error instanceof SourceError) return error;
  if (error instanceof Error && error.cause instanceof SourceError) return error.cause;
  const refusal = readRefusal(error, grant, source);
  if (refusal?.httpStatus === 404 && !refusal.isNamed) return notThere(options);
  if (refusal !== undefined) return refusal;
  if (error instanceof AuthorizationResponseError) return accessRefused(error.error, source);
  const status =
    error instanceof ClientError && error.cause instanceof Response ? error.cause.status : undefined;
  if (status === 400 || status === 401 || status === 403)
    return new GrantRefused(undefined, status, grant, source);
  if (status === 404) return notThere(options);
  return notOAuth(status);
}

function notOAuth(httpStatus?: number): SourceError {
  const shown = httpStatus === undefined ? '' : ` (status ${httpStatus})`;
  return new SourceError('protocol', `${SUBJECT} did not send a valid OAuth 2.0 answer${shown}.`, {
    hint: CHECK_PATH,
    httpStatus,
  });
}
