import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { type Answer, failed } from './answer.ts';
import type { Org } from './org.ts';

/** Who may ask for a session, and how long one lasts without use. */
export interface SessionOptions {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly lifetimeMs: number;
  readonly now: () => Date;
}

/** The app that gets access tokens by client credentials, and the sessions behind them. */
export class Sessions {
  readonly #org: Org;
  readonly #options: SessionOptions;
  /** The time of last use of each session, by access token. */
  readonly #lastUsed = new Map<string, number>();

  constructor(org: Org, options: SessionOptions) {
    this.#org = org;
    this.#options = options;
  }

  /** Answers `POST /services/oauth2/token`: `client_credentials` alone, without refresh token or `expires_in`. */
  answerToken(method: string, headers: IncomingHttpHeaders, body: string, instanceUrl: string): Answer {
    if (method !== 'POST') return oauthError('invalid_request', 'must use HTTP POST');
    const form = new URLSearchParams(body);
    const [basicId, basicSecret] = basic(headers.authorization);
    const grant = form.get('grant_type');
    if (grant !== 'client_credentials')
      return oauthError(grant ? 'unsupported_grant_type' : 'invalid_request', 'grant type not supported');
    if ((basicId ?? form.get('client_id')) !== this.#options.clientId)
      return oauthError('invalid_client_id', 'client identifier invalid');
    if ((basicSecret ?? form.get('client_secret')) !== this.#options.clientSecret)
      return oauthError('invalid_client', 'invalid client credentials');
    if (!this.#org.settings.hasRunAsUser)
      return oauthError('invalid_grant', 'no client credentials user enabled');
    const { organizationId, userId } = this.#org;
    const access_token = `${organizationId.slice(0, 15)}!AQ${randomUUID().replaceAll('-', '.')}`;
    this.#lastUsed.set(access_token, this.#options.now().getTime());
    return {
      status: 200,
      headers: { 'cache-control': 'no-cache, no-store' },
      body: {
        access_token,
        signature: 'c2lnbmF0dXJl',
        scope: 'api',
        instance_url: instanceUrl,
        id: `${instanceUrl}/id/${organizationId}/${userId}`,
        token_type: 'Bearer',
        issued_at: String(this.#options.now().getTime()),
        api_instance_url: instanceUrl,
      },
    };
  }

  /** Returns undefined for a request with a valid session, which it extends; else the answer to it. */
  refuse(headers: IncomingHttpHeaders): Answer | undefined {
    const [, token] = /^(?:Bearer|OAuth) (.+)$/.exec(headers.authorization ?? '') ?? [];
    const now = this.#options.now().getTime();
    const lastUsed = token === undefined ? undefined : this.#lastUsed.get(token);
    if (token === undefined || lastUsed === undefined || now - lastUsed > this.#options.lifetimeMs)
      return failed(401, 'INVALID_SESSION_ID', 'Session expired or invalid');
    this.#lastUsed.set(token, now);
    return undefined;
  }

  /** Ends every session. */
  revoke(): void {
    this.#lastUsed.clear();
  }

  /** Answers `/services/oauth2/userinfo` and the identity URL. */
  answerIdentity(instanceUrl: string): Answer {
    const { organizationId, userId } = this.#org;
    const user = this.#org.table('User').get(userId);
    const id = `${instanceUrl}/id/${organizationId}/${userId}`;
    return {
      status: 200,
      body: {
        id,
        sub: id,
        asserted_user: true,
        user_id: userId,
        organization_id: organizationId,
        preferred_username: user?.['Username'],
        username: user?.['Username'],
        active: true,
        user_type: 'STANDARD',
        urls: {
          rest: `${instanceUrl}/services/data/v{version}/`,
          sobjects: `${instanceUrl}/services/data/v{version}/sobjects/`,
        },
      },
    };
  }
}

function basic(authorization: string | undefined): readonly (string | undefined)[] {
  const [, encoded] = /^Basic (.+)$/.exec(authorization ?? '') ?? [];
  if (encoded === undefined) return [];
  return Buffer.from(encoded, 'base64').toString().split(':').map(decodeURIComponent);
}

function oauthError(error: string, error_description: string): Answer {
  return { status: error === 'invalid_client' ? 401 : 400, body: { error, error_description } };
}
