import { createHash, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, exportPKCS8, generateKeyPair, importPKCS8, SignJWT, UnsecuredJWT } from 'jose';

/** Claims about a person. */
export type Claims = Readonly<Record<string, unknown>>;

/** What the provider does wrong, or leaves out. */
export interface Fault {
  /** Changes of the discovery document; a value of undefined removes the field. */
  readonly discovery?: Claims;
  /** Changes of the claims in the ID token. */
  readonly idToken?: Claims;
  /** How the ID token is signed instead; `PS256` is an algorithm that the provider does not announce. */
  readonly signature?: 'none' | 'HS256' | 'PS256' | 'another key' | 'unknown key id';
  /** Error of the token endpoint. */
  readonly tokenError?: string;
  /** Answer of the token endpoint, or of UserInfo, instead of the right one. */
  readonly answers?: Readonly<Record<string, readonly [status: number, type: string, body: string]>>;
  /** Paths that answer with the HTML of a proxy. */
  readonly html?: readonly string[];
  /** Paths that never answer. */
  readonly silent?: readonly string[];
}

/** An OpenID provider that knows one person and checks strictly what a client sends. */
export interface OidcStub {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Who logs in next. */
  person: Claims;
  /** Claims that only the UserInfo endpoint has. */
  userinfo: Claims;
  fault: Fault;
  /** Paths of all requests, in their order. */
  readonly requests: string[];
  /** The ID tokens that were issued. */
  readonly idTokens: string[];
  /** Logs the person in at an address of the authorization endpoint. Returns the address to which the browser is sent back. */
  approve(address: string): string;
  close(): Promise<void>;
}

interface Code {
  readonly claims: Claims;
  readonly redirectUri: string;
  readonly challenge: string;
  readonly nonce: string | null;
}

const EXPORTABLE = { extractable: true };
const CLIENT_ID = 'leadsync';
const CLIENT_SECRET = 'secret of the client: 100% + more';

/** Starts the provider on a port of its own. Without a secret, the client is public. */
export async function startOidcStub({ isPublic = false } = {}): Promise<OidcStub> {
  const [keys, others] = [await generateKeyPair('RS256', EXPORTABLE), await generateKeyPair('RS256')];
  const jwk = { ...(await exportJWK(keys.publicKey)), kid: 'key-1', alg: 'RS256', use: 'sig' };
  const codes = new Map<string, Code>();
  const accessTokens = new Map<string, Claims>();
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  const stub: OidcStub = {
    issuer,
    clientId: CLIENT_ID,
    clientSecret: CLIENT_SECRET,
    person: { sub: 'u-1', email: 'anna@example.com', email_verified: true },
    userinfo: {},
    fault: {},
    requests: [],
    idTokens: [],
    approve: (address) => {
      const query = new URL(address).searchParams;
      const wrong = wrongIn(query);
      if (wrong !== undefined) throw new Error(`The provider refuses the request: ${wrong}`);
      const code = randomUUID();
      codes.set(code, {
        claims: stub.person,
        redirectUri: query.get('redirect_uri') ?? '',
        challenge: query.get('code_challenge') ?? '',
        nonce: query.get('nonce'),
      });
      return back(query, { code });
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', issuer);
    stub.requests.push(url.pathname);
    if (stub.fault.silent?.includes(url.pathname)) return;
    if (stub.fault.html?.includes(url.pathname))
      return void response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Corporate proxy</h1>');
    const instead = stub.fault.answers?.[url.pathname];
    if (instead) return void response.writeHead(instead[0], { 'content-type': instead[1] }).end(instead[2]);
    if (url.pathname === '/.well-known/openid-configuration') return json(response, 200, discovery());
    if (url.pathname === '/jwks') return json(response, 200, { keys: [jwk] });
    if (url.pathname === '/token') return token(request, response);
    if (url.pathname === '/userinfo') {
      const claims = accessTokens.get((request.headers.authorization ?? '').replace(/^Bearer /, ''));
      return claims ? json(response, 200, { sub: claims['sub'], ...stub.userinfo }) : json(response, 401, {});
    }
    if (url.pathname === '/authorize' || url.pathname === '/logout') return page(url, response);
    if (url.pathname === '/approve')
      return void response.writeHead(303, { location: stub.approve(url.href) }).end();
    if (url.pathname === '/deny')
      return void response
        .writeHead(303, { location: back(url.searchParams, { error: 'access_denied' }) })
        .end();
    return json(response, 404, {});
  }

  function discovery(): Claims {
    return {
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/jwks`,
      userinfo_endpoint: `${issuer}/userinfo`,
      end_session_endpoint: `${issuer}/logout`,
      response_types_supported: ['code'],
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['client_secret_basic'],
      id_token_signing_alg_values_supported: ['RS256', 'none', 'HS256'],
      ...stub.fault.discovery,
    };
  }

  async function token(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const form = new URLSearchParams(await textOf(request));
    if (stub.fault.tokenError !== undefined) return json(response, 400, { error: stub.fault.tokenError });
    if (!isClient(request, form, isPublic)) return json(response, 401, { error: 'invalid_client' });
    const code = codes.get(form.get('code') ?? '');
    codes.delete(form.get('code') ?? ''); // works once
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url');
    if (!code || code.challenge !== challenge || code.redirectUri !== form.get('redirect_uri'))
      return json(response, 400, { error: 'invalid_grant' });
    const access = randomUUID();
    accessTokens.set(access, code.claims);
    const id = await idToken(code);
    stub.idTokens.push(id);
    return json(response, 200, { access_token: access, token_type: 'Bearer', expires_in: 60, id_token: id });
  }

  async function idToken({ claims, nonce }: Code): Promise<string> {
    const now = Math.floor(Date.now() / 1000);
    const standard = { iss: issuer, aud: CLIENT_ID, iat: now, exp: now + 60, nonce };
    const payload = { ...standard, ...claims, ...stub.fault.idToken };
    const { signature } = stub.fault;
    if (signature === 'none') return new UnsecuredJWT(payload).encode();
    if (signature === 'HS256')
      return new SignJWT(payload)
        .setProtectedHeader({ alg: 'HS256' })
        .sign(new TextEncoder().encode(CLIENT_SECRET.padEnd(32)));
    if (signature === 'PS256')
      return new SignJWT(payload)
        .setProtectedHeader({ alg: 'PS256', kid: 'key-1' })
        .sign(await importPKCS8(await exportPKCS8(keys.privateKey), 'PS256'));
    const { privateKey } = signature === 'another key' ? others : keys;
    const kid = signature === 'unknown key id' ? 'key-2' : 'key-1';
    return new SignJWT(payload).setProtectedHeader({ alg: 'RS256', kid }).sign(privateKey);
  }

  return stub;
}

/** Returns what is wrong with an authorization request; undefined if nothing is. */
function wrongIn(query: URLSearchParams): string | undefined {
  const expected = { response_type: 'code', client_id: CLIENT_ID, code_challenge_method: 'S256' };
  const wrong = Object.entries(expected).find(([name, value]) => query.get(name) !== value);
  if (wrong) return wrong[0];
  return ['redirect_uri', 'state', 'nonce', 'code_challenge'].find((name) => !query.get(name));
}

function back(query: URLSearchParams, fields: Readonly<Record<string, string>>): string {
  const url = new URL(query.get('redirect_uri') ?? '');
  for (const [name, value] of Object.entries({ ...fields, state: query.get('state') ?? '' }))
    url.searchParams.set(name, value);
  return url.href;
}

/** Whether the client identifies itself: by HTTP Basic with form-encoded parts (RFC 6749, section 2.3.1), or by its id alone if it is public. */
function isClient({ headers }: IncomingMessage, form: URLSearchParams, isPublic: boolean): boolean {
  if (isPublic) return headers.authorization === undefined && form.get('client_id') === CLIENT_ID;
  const [id = '', secret = ''] = Buffer.from((headers.authorization ?? '').slice(6), 'base64')
    .toString()
    .split(':')
    .map((part) => decodeURIComponent(part.replaceAll('+', ' ')));
  return id === CLIENT_ID && secret === CLIENT_SECRET;
}

/** The provider's own pages: the login, and the end of its session. */
function page({ pathname, search, searchParams }: URL, response: ServerResponse): void {
  const link =
    pathname === '/logout'
      ? `<h1>Logged out</h1><a href="${searchParams.get('post_logout_redirect_uri')}">Back to the application</a>`
      : `<h1>Who are you?</h1><a href="/approve${search.replaceAll('&', '&amp;')}">I am Anna</a> <a href="/deny${search.replaceAll('&', '&amp;')}">Cancel</a>`;
  response
    .writeHead(200, { 'content-type': 'text/html' })
    .end(`<!doctype html><title>Provider</title><link rel="icon" href="data:,">${link}`);
}

function json(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

async function textOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part);
  return Buffer.concat(parts).toString();
}
