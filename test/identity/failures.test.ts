import { expect, onTestFinished, test } from 'vitest';
import type { LoginFailed } from '../../src/identity/contract.ts';
import { aProvider } from '../admin/oidc-admin.ts';
import { type Fault, startOidcStub } from '../stub/oidc/oidc-stub.ts';

const BACK = 'http://127.0.0.1:9464/login/oidc/callback';
const NOW = Math.floor(Date.now() / 1000);
/** An ID token without the name, so that leadsync asks UserInfo. */
const nameless = { idToken: { email: undefined } };

function answering(path: string, status: number, type: string, body: string): Fault {
  return { answers: { [path]: [status, type, body] } };
}
const token = (status: number, body: string, type = 'application/json') =>
  answering('/token', status, type, body);
const userinfo = (status: number, body = '{}'): Fault => ({
  ...answering('/userinfo', status, 'application/json', body),
  ...nameless,
});

/** What the provider does wrong, the reason of the failure, and what its sentence and its hint contain. */
const FAULTS: readonly [what: string, fault: Fault, reason: string, message: string, hint: string][] = [
  [
    'refuses the client',
    { tokenError: 'invalid_client' },
    'client',
    'as its client (invalid_client)',
    'client_secret',
  ],
  [
    'refuses the secret as Keycloak does',
    token(401, '{"error":"unauthorized_client"}'),
    'client',
    'as its client (unauthorized_client)',
    'client_secret',
  ],
  [
    'refuses the flow',
    { tokenError: 'unauthorized_client' },
    'client',
    'log people in (unauthorized',
    'Code flow',
  ],
  ['refuses the grant', { tokenError: 'unsupported_grant_type' }, 'client', 'log people in', 'Code flow'],
  [
    'refuses the code',
    { tokenError: 'invalid_grant' },
    'expired',
    'no longer accepts this login',
    'redirect URI',
  ],
  ['refuses the request', { tokenError: 'invalid_request' }, 'client', "leadsync's request", 'redirect URI'],
  [
    'refuses the scopes',
    { tokenError: 'invalid_scope' },
    'client',
    "leadsync's request",
    'scopes of admin.oidc',
  ],
  [
    'fails, and says so',
    { tokenError: 'server_error' },
    'unreachable',
    'overloaded or has an internal error (server_error)',
    'minute',
  ],
  [
    'fails',
    token(500, '{"error":"server_error"}'),
    'unreachable',
    'an internal error (status 500)',
    "provider's log",
  ],
  ['is overloaded', token(503, '<h1>busy', 'text/html'), 'unreachable', 'error (status 503)', 'minute'],
  [
    'limits requests',
    token(429, '{"error":"slow_down"}'),
    'unreachable',
    'an internal error (status 429)',
    'minute',
  ],
  [
    'is behind a firewall',
    token(403, '<h1>no', 'text/html'),
    'protocol',
    'valid answer (status 403)',
    'proxy',
  ],
  ['redirects', token(302, '', 'text/html'), 'protocol', 'valid answer (status 302)', 'proxy'],
  ['answers in HTML', { html: ['/token'] }, 'protocol', 'valid answer (status 200)', 'proxy'],
  ['answers broken JSON', token(200, '{no'), 'protocol', 'did not send a valid answer.', 'proxy'],
  ['answers no token', token(200, '{}'), 'protocol', 'did not send a valid answer.', 'proxy'],
  [
    'speaks OAuth alone',
    token(200, '{"access_token":"a","token_type":"bearer"}'),
    'protocol',
    'sent no ID token',
    'scope openid',
  ],
  [
    'has a clock behind',
    { idToken: { exp: NOW - 120 } },
    'token',
    'has already expired',
    "machine's is ahead",
  ],
  [
    'has a clock ahead',
    { idToken: { nbf: NOW + 3_600 } },
    'token',
    'is not valid yet',
    "machine's is behind",
  ],
  ['names another client', { idToken: { aud: 'x' } }, 'token', 'for another client', 'client_id'],
  [
    'names several clients',
    { idToken: { aud: ['leadsync', 'x'] } },
    'token',
    'for several clients',
    'audiences',
  ],
  [
    'names another party',
    { idToken: { aud: ['leadsync', 'x'], azp: 'x' } },
    'token',
    'another client',
    'client_id',
  ],
  [
    'names another issuer',
    { idToken: { iss: 'https://x.example' } },
    'token',
    'another issuer',
    'admin.oidc.issuer',
  ],
  ['mixes up logins', { idToken: { nonce: 'x' } }, 'token', 'to another login', 'Log in again'],
  [
    'forgets the nonce',
    { idToken: { nonce: undefined } },
    'token',
    'it has no claim nonce',
    'claims of the ID tokens',
  ],
  [
    'forgets the subject',
    { idToken: { sub: undefined } },
    'token',
    'it has no claim sub',
    'claims of the ID tokens',
  ],
  ['signs with an unknown key', { signature: 'unknown key id' }, 'token', 'does not publish', 'older keys'],
  [
    'signs with a wrong key',
    { signature: 'another key' },
    'token',
    'signature is not that of the provider',
    'proxy',
  ],
  ['signs by another algorithm', { signature: 'PS256' }, 'token', 'does not announce', 'RS256'],
  ['does not sign', { signature: 'none' }, 'token', 'not signed with a key pair', 'RS256'],
  ['signs with the secret', { signature: 'HS256' }, 'token', 'not signed with a key pair', 'RS256'],
  [
    'publishes no key',
    answering('/jwks', 200, 'application/json', '{"keys":[]}'),
    'token',
    'not publish',
    'proxy',
  ],
  [
    'publishes nonsense',
    answering('/jwks', 200, 'application/json', '{}'),
    'protocol',
    'valid answer',
    'proxy',
  ],
  [
    'cannot publish its keys',
    answering('/jwks', 500, 'text/plain', ''),
    'unreachable',
    '(status 500)',
    'minute',
  ],
  ['keeps UserInfo closed', userinfo(403), 'protocol', 'read UserInfo (status 403)', 'into the ID token'],
  ['has a broken UserInfo', userinfo(502), 'unreachable', '(status 502)', 'minute'],
  ['mixes up people', userinfo(200, '{"sub":"another"}'), 'token', 'a different person', 'Log in again'],
];

test.each(FAULTS)('a provider that %s is reported as what it is', async (_, fault, reason, message, hint) => {
  const stub = await startOidcStub();
  onTestFinished(() => stub.close());
  stub.fault = fault;
  const provider = aProvider(stub);
  const attempt = await provider.begin(BACK);
  const answer = new URL(stub.approve(attempt.address)).searchParams;
  const failure = (await provider.finish(answer, attempt).catch((error) => error)) as LoginFailed;
  expect([failure.reason, failure.message, failure.hint]).toEqual([
    reason,
    expect.stringContaining(message),
    expect.stringContaining(hint),
  ]);
  for (const secret of [...stub.idTokens, 'anna@', stub.clientSecret])
    expect(failure.stack).not.toContain(secret);
});
