import { describe, expect, onTestFinished, test } from 'vitest';
import type { LoginFailed } from '../../src/identity/contract.ts';
import type { OpenIdProvider } from '../../src/identity/openid-provider.ts';
import { aProvider } from '../admin/oidc-admin.ts';
import { type OidcStub, startOidcStub } from '../stub/oidc/oidc-stub.ts';

const BACK = 'http://127.0.0.1:9464/login/oidc/callback';
const CONFIGURATION = '/.well-known/openid-configuration';

async function aStub(options = {}): Promise<OidcStub> {
  const stub = await startOidcStub(options);
  onTestFinished(() => stub.close());
  return stub;
}

async function logIn(stub: OidcStub, provider: OpenIdProvider) {
  const attempt = await provider.begin(BACK);
  return provider.finish(new URL(stub.approve(attempt.address)).searchParams, attempt);
}

const failureOf = async (work: Promise<unknown>) => (await work.catch((error) => error)) as LoginFailed;

describe('a provider', () => {
  test('gets no request before the first login, and a request for its configuration at most once an hour', async () => {
    const stub = await aStub();
    let nowMs = 0;
    const provider = aProvider(stub, {}, { monotonicMs: () => nowMs });
    expect(stub.requests).toEqual([]);
    await Promise.all([provider.begin(BACK), provider.begin(BACK)]);
    nowMs = 3_600_000 - 1;
    await provider.begin(BACK);
    expect(stub.requests).toEqual([CONFIGURATION]);
    nowMs += 1;
    await provider.begin(BACK);
    expect(stub.requests).toEqual([CONFIGURATION, CONFIGURATION]);
  });

  test('accepts a public client, and one with a secret in a header or in the body', async () => {
    const open = await aStub({ isPublic: true });
    expect((await logIn(open, aProvider(open, { client_secret: undefined }))).name).toBe('anna@example.com');
    const stub = await aStub();
    expect((await logIn(stub, aProvider(stub))).name).toBe('anna@example.com');
    stub.fault = { discovery: { token_endpoint_auth_methods_supported: ['client_secret_post'] } };
    const failure = await failureOf(logIn(stub, aProvider(stub))); // the stub reads the header alone
    expect(failure.message).toContain('does not accept leadsync as its client (invalid_client)');
  });

  test('gets a UserInfo request only if the ID token lacks the name, or the groups that decide about roles', async () => {
    const stub = await aStub();
    const groups = { group_roles: { ops: 'operator' } };
    await logIn(stub, aProvider(stub));
    expect(stub.requests).not.toContain('/userinfo');
    stub.userinfo = { email: 'eve@example.com', groups: ['ops'] };
    expect(await logIn(stub, aProvider(stub, groups))).toMatchObject({
      name: 'anna@example.com', // the signed ID token counts first
      groups: ['ops'],
    });
    stub.person = { sub: 'u-1' };
    stub.userinfo = { email: 'anna@example.com', email_verified: false };
    expect((await failureOf(logIn(stub, aProvider(stub)))).message).toContain('is not verified');
    stub.userinfo = { sub: 'somebody else', email: 'anna@example.com' };
    expect((await failureOf(logIn(stub, aProvider(stub)))).reason).toBe('token');
  });

  test.each([
    ['a verified address', { email_verified: true }, 'anna@example.com'],
    [
      'a verified address, as text',
      { email: 'anna@example.com', email_verified: 'true' },
      'anna@example.com',
    ],
    ['nothing about the address', {}, 'anna@example.com'],
    ['an address that is not verified', { email_verified: false }, undefined],
    ['an address with an odd mark', { email_verified: 'unknown' }, undefined],
  ])('may say only at UserInfo whether the address is verified: %s', async (_, userinfo, name) => {
    const stub = await aStub();
    stub.person = { sub: 'u-1', email: 'anna@example.com' };
    stub.userinfo = userinfo;
    const person = await logIn(stub, aProvider(stub)).catch((error: LoginFailed) => error);
    expect(stub.requests).toContain('/userinfo');
    if (name === undefined) expect((person as LoginFailed).message).toContain('is not verified');
    else expect(person.name).toBe(name);
  });

  test('verifies no address at UserInfo by the mark of another one in the ID token', async () => {
    const stub = await aStub();
    stub.person = { sub: 'u-1', email_verified: true };
    stub.userinfo = { email: 'anna@example.com', email_verified: false };
    expect((await failureOf(logIn(stub, aProvider(stub)))).message).toContain('is not verified');
  });

  test.each([[undefined], [''], ['\u202eanna'], ['a'.repeat(201)], [['anna@example.com']], [7]])(
    'has to send a usable name: %j',
    async (email) => {
      const stub = await aStub();
      stub.person = { sub: 'u-1', email };
      const failure = await failureOf(logIn(stub, aProvider(stub)));
      expect([failure.reason, failure.message]).toEqual([
        'person',
        expect.stringContaining('the claim email'),
      ]);
    },
  );

  test('may send any groups; those that are no names are ignored, and at most 500 are kept', async () => {
    const stub = await aStub();
    const many = Array.from({ length: 600 }, (_, n) => `g${n}`);
    stub.person = { ...stub.person, groups: [{}, '', null, 'a'.repeat(201), ...many] };
    expect((await logIn(stub, aProvider(stub))).groups).toEqual(many.slice(0, 500));
  });

  test('gets no ID token back that is too long for an address', async () => {
    const stub = await aStub();
    stub.person = { ...stub.person, groups: [...Array(500)].map((_, n) => `group-${n}`) };
    expect((await logIn(stub, aProvider(stub))).idToken).toBeUndefined();
    expect(await aProvider(stub).logoutAddress(undefined, 'http://127.0.0.1/login')).not.toContain('hint');
  });

  test.each([
    ['no PKCE with S256', { code_challenge_methods_supported: ['plain'] }, 'PKCE with S256'],
    ['no code', { response_types_supported: ['id_token'] }, 'response type code'],
    ['no keys', { jwks_uri: undefined }, 'jwks_uri'],
    [
      'an endpoint that is no address',
      { authorization_endpoint: 'javascript:alert(1)' },
      'authorization_endpoint',
    ],
  ])('that has %s is not used', async (_, discovery, missing) => {
    const stub = await aStub();
    stub.fault = { discovery };
    const failure = await failureOf(aProvider(stub).check());
    expect(failure.reason).toBe('protocol');
    expect(failure.message).toMatch(new RegExp(`does not have what a login needs: ${missing}\\.$`));
  });

  test('may omit its capabilities', async () => {
    const stub = await aStub();
    stub.fault = {
      discovery: { code_challenge_methods_supported: undefined, response_types_supported: undefined },
    };
    await aProvider(stub).check();
  });

  test('has to call itself what the configuration says', async () => {
    const stub = await aStub();
    stub.fault = { discovery: { issuer: 'https://sso.example.com/' } };
    const failure = await failureOf(aProvider(stub).check());
    expect(failure.message).toMatch(/calls itself https:\/\/sso\.example\.com\/, and not http:\/\/127/);
    expect(failure.hint).toBe('Set admin.oidc.issuer to exactly the issuer that the provider names.');
  });

  test.each([CONFIGURATION, '/token', '/jwks'])(
    'that never answers %s fails after the time limit',
    async (path) => {
      const stub = await aStub();
      stub.fault = { silent: [path] };
      const failure = await failureOf(logIn(stub, aProvider(stub, {}, { timeoutMs: 50 })));
      expect([failure.reason, failure.message]).toEqual([
        'unreachable',
        expect.stringMatching(/^The login provider at 127\.0\.0\.1:\d+ did not answer within 0\.05 s\.$/),
      ]);
    },
  );
});
