import { describe, expect, test } from 'vitest';
import { BegunLogins } from '../../src/admin/gate/begun-logins.ts';
import { adminToken } from './asking.ts';
import { anOidcAdmin, aProvider, aRoles, TOKEN } from './oidc-admin.ts';

const pageOf = (text: string) =>
  text
    .replace(/<[^>]+>/g, ' ')
    .replace(/\s+/g, ' ')
    .replaceAll('&#39;', "'");

describe('a login at the provider', () => {
  test('begins with PKCE, state and nonce, and ends in a session that names the person in the audit log', async () => {
    const { browser, entries, url, stub } = await anOidcAdmin();
    const anna = browser();
    const begun = await anna.get('/login/oidc?next=/sinks?a=b');
    expect(begun.status).toBe(303);
    expect(begun.headers['set-cookie']?.[0]).toMatch(
      /^leadsync_login=[\w-]{43}; Max-Age=600; Path=\/; HttpOnly; SameSite=Lax$/,
    );
    const query = new URL(begun.headers.location ?? '').searchParams;
    expect(Object.fromEntries(query)).toMatchObject({
      response_type: 'code',
      scope: 'openid profile email',
      redirect_uri: `${url}/login/oidc/callback`,
      code_challenge_method: 'S256',
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      state: expect.stringMatching(/^[\w-]{43}$/),
      nonce: expect.stringMatching(/^[\w-]{43}$/),
    });
    const back = await anna.logIn('/login/oidc?next=/sinks?a=b');
    expect(back.status).toBe(200);
    expect(back.headers['set-cookie']?.[0]).toMatch(
      /^leadsync_session=[\w-]{43}; Max-Age=43200; Path=\/; HttpOnly; SameSite=Strict$/,
    );
    expect(back.text).toContain('<meta http-equiv="refresh" content="0;url=/sinks?a=b"');
    expect((await anna.post('/sinks/crm/resume', 'sure=yes')).status).toBe(303);
    const proved = { subject: 'u-1', issuer: stub.issuer };
    const who = { who: 'anna@example.com', via: 'oidc', role: 'operator', address: '127.0.0.1', ...proved };
    expect(entries).toEqual([
      { ...who, what: 'login' },
      { ...who, what: 'resume', sink: 'crm' },
    ]);
    const page = await anna.get('/sinks');
    expect(page.text).toContain('<span class="reader" title="role operator">anna@example.com</span>');
    expect(page.text).toContain('Log out');
    expect((await anna.get('/audit')).status).toBe(403);
  });

  test('works in two tabs of a browser, in any order', async () => {
    const { browser, stub } = await anOidcAdmin();
    const anna = browser();
    const [first, second] = [await anna.begin('/login/oidc?next=/leads'), await anna.begin()];
    expect((await anna.callBack(stub.approve(second))).text).toContain('content="0;url=/"');
    expect((await anna.callBack(stub.approve(first))).text).toContain('content="0;url=/leads"');
  });

  test('ends after twelve hours, and at the logout, which redirects to the provider', async () => {
    let nowMs = 0;
    const { browser, stub, url } = await anOidcAdmin({ monotonicMs: () => nowMs });
    const anna = browser();
    await anna.logIn();
    nowMs = 12 * 3_600_000 - 1;
    expect((await anna.get('/sinks')).status).toBe(200);
    nowMs += 2;
    expect((await anna.get('/sinks')).status).toBe(303);
    await anna.logIn();
    const old = anna.cookies.get('leadsync_session') ?? '';
    const out = await anna.post('/logout');
    const to = new URL(
      /http-equiv="refresh" content="0;url=([^"]*)"/.exec(out.text)?.[1]?.replaceAll('&amp;', '&') ?? '',
    );
    expect(to.origin + to.pathname).toBe(`${stub.issuer}/logout`);
    expect(Object.fromEntries(to.searchParams)).toEqual({
      client_id: 'leadsync',
      id_token_hint: stub.idTokens.at(-1),
      post_logout_redirect_uri: `${url}/login`,
    });
    anna.cookies.set('leadsync_session', old);
    expect((await anna.get('/sinks')).status).toBe(303);
  });

  test('ends at the logout even if the provider is down or has no logout of its own', async () => {
    const { browser, stub, now } = await anOidcAdmin();
    const anna = browser();
    stub.fault = { discovery: { end_session_endpoint: undefined } };
    await anna.logIn();
    expect((await anna.post('/logout')).headers.location).toBe('/login');
    await anna.logIn();
    now.provider = aProvider(stub);
    await stub.close();
    expect((await anna.post('/logout')).headers.location).toBe('/login');
    expect((await anna.get('/sinks')).status).toBe(303);
  });

  test('is offered on the login page, with the token folded below it if there is one', async () => {
    let tokens = adminToken(TOKEN);
    const { browser, now } = await anOidcAdmin({ tokens: () => tokens });
    const page = async () => (await browser().get('/login?next=/leads?lead=1')).text;
    expect(await page()).toContain('href="/login/oidc?next=%2Fleads%3Flead%3D1">Log in with Acme</a>');
    expect(await page()).toMatch(/<details><summary>Log in with a token<\/summary><form/);
    expect((await browser().post('/login', 'token=wrong')).text).toContain('<details open><summary>');
    tokens = [];
    expect(await page()).not.toContain('name="token"');
    tokens = adminToken(TOKEN);
    now.provider = undefined;
    expect(await page()).not.toContain('Acme');
    expect(await page()).not.toContain('<details');
    expect((await browser().get('/login/oidc')).headers.location).toBe('/login');
  });

  test('a token still works beside it, and no API answers a person without a credential', async () => {
    const { browser } = await anOidcAdmin();
    const bearer = { authorization: `Bearer ${TOKEN}` };
    expect((await browser().get('/api/v1/sinks', bearer)).status).toBe(200);
    expect((await browser().get('/api/v1/sinks')).status).toBe(401);
  });

  test('of people with one name, also that of a token, leaves different lines in the audit log', async () => {
    const { browser, entries, stub, now } = await anOidcAdmin({}, { name_claim: 'preferred_username' });
    now.roles = aRoles({ admin: 'operator' });
    for (const sub of ['u-1', 'u-2']) {
      stub.person = { sub, preferred_username: 'admin' };
      await browser().logIn();
    }
    await browser().post('/login', `token=${TOKEN}`);
    expect(entries.map(({ who, via, subject }) => [who, via, subject])).toEqual([
      ['admin', 'oidc', 'u-1'],
      ['admin', 'oidc', 'u-2'],
      ['admin', 'session', undefined],
    ]);
  });

  test('without a token, even this machine needs it', async () => {
    const { browser } = await anOidcAdmin({ tokens: () => [] });
    expect((await browser().get('/api/v1/sinks')).status).toBe(401);
    expect((await browser().logIn()).status).toBe(200);
  });
});

describe('the address to come back to', () => {
  test('is that of public_url, where the login then begins, so that its cookie arrives', async () => {
    const { browser, now } = await anOidcAdmin();
    now.publicUrl = 'https://leadsync.example.com';
    const moved = await browser().begin('/login/oidc?next=/leads');
    expect(moved).toBe('https://leadsync.example.com/login/oidc?here=1&next=%2Fleads');
    const begun = await browser().get('/login/oidc?here=1&next=%2Fleads'); // behind a proxy that changes Host
    expect(new URL(begun.headers.location ?? '').searchParams.get('redirect_uri')).toBe(
      'https://leadsync.example.com/login/oidc/callback',
    );
    expect(begun.headers['set-cookie']?.[0]).toMatch(/^__Host-leadsync_login=.*; Path=\/; HttpOnly; Secure/);
  });

  test('over https, leads back to a session that no other host of the domain can set', async () => {
    const { browser, now } = await anOidcAdmin();
    now.publicUrl = 'https://leadsync.example.com';
    const anna = browser();
    await anna.logIn('/login/oidc?here=1');
    expect([...anna.cookies.keys()]).toEqual(['__Host-leadsync_login', '__Host-leadsync_session']);
    expect((await anna.get('/sinks')).status).toBe(200);
  });

  test('is otherwise that of the request, as a trusted proxy forwards it, and never that of a stranger', async () => {
    const { browser } = await anOidcAdmin({
      proxies: () => ['127.0.0.1'],
      hosts: () => ['pages.example.com'],
    });
    const forwarded = (host: string) =>
      browser().get('/login/oidc', {
        'x-forwarded-host': host,
        'x-forwarded-proto': 'https',
        'x-forwarded-for': '203.0.113.7',
      });
    const { headers } = await forwarded('pages.example.com');
    expect(new URL(headers.location ?? '').searchParams.get('redirect_uri')).toBe(
      'https://pages.example.com/login/oidc/callback',
    );
    expect((await forwarded('evil.example')).status).toBe(421);
  });

  test('is registered: at any other address, a page says where to open leadsync, and the provider is not asked', async () => {
    const { browser, now, stub, url } = await anOidcAdmin();
    const at = `localhost:${new URL(url).port}`;
    const answer = await browser().get('/login/oidc?next=/leads', { host: at });
    expect(answer.status).toBe(400);
    expect(pageOf(answer.text)).toContain(
      `You opened the pages at http://${at}, but the provider sends people back only to ${url}. Open them there`,
    );
    expect(stub.requests).toEqual([]);
    now.publicUrl = `http://${at}`;
    expect((await browser().get('/login/oidc', { host: at })).status).toBe(303);
  });

  test.each([
    '//evil.example',
    '/\\evil.example',
    'https://evil.example',
    '/a%0d%0ab:c',
    `/${'a'.repeat(1_000)}`,
  ])('never leads to another site afterwards: %s', async (next) => {
    const { browser } = await anOidcAdmin();
    const answer = await browser().logIn(`/login/oidc?next=${encodeURIComponent(next)}`);
    const to = /content="0;url=([^"]*)"/.exec(answer.text)?.[1];
    expect(to).toBe(next.startsWith('/a%0d') ? next : '/');
  });
});

describe('the role', () => {
  test('is that of the configuration in force: a reload that removes a person ends what they may do', async () => {
    const { browser, now, entries } = await anOidcAdmin();
    const anna = browser();
    await anna.logIn();
    now.roles = aRoles({ 'anna@example.com': 'viewer' });
    expect((await anna.post('/sinks/crm/resume', 'sure=yes')).status).toBe(403);
    now.roles = aRoles({ 'bob@example.com': 'admin' });
    const refused = await anna.get('/sinks');
    expect(refused.status).toBe(403);
    expect(refused.text).toContain('You have no role yet');
    expect(refused.text).not.toMatch(/<nav|crm/);
    expect((await anna.get('/api/v1/sinks')).status).toBe(403);
    expect(refused.text).toContain('<form method="post" action="/logout"');
    now.roles = aRoles({ 'anna@example.com': 'operator' });
    expect((await anna.post('/sinks/crm/resume', 'sure=yes')).status).toBe(303);
    now.provider = undefined;
    expect((await anna.get('/sinks')).headers.location).toBe('/login?next=%2Fsinks');
    expect(entries.map(({ what }) => what)).toEqual(['login', 'resume']);
  });

  test('of a session ends when the configuration names another provider than the one that began it', async () => {
    const { browser, now, stub } = await anOidcAdmin();
    const anna = browser();
    await anna.logIn();
    now.provider = aProvider(stub, { name_claim: 'preferred_username' });
    expect((await anna.get('/sinks')).status).toBe(303);
    const begun = await anna.begin();
    now.provider = aProvider(stub, { client_id: 'another' });
    expect((await anna.callBack(stub.approve(begun))).status).toBe(400);
  });

  test('of a group counts for people who are not named, and the highest of several', async () => {
    const { browser, now, stub } = await anOidcAdmin(
      {},
      { group_roles: { sales: 'viewer', ops: 'operator' } },
    );
    now.roles = aRoles({ 'bob@example.com': 'viewer' }, { groups: { sales: 'viewer', ops: 'operator' } });
    const roleOf = async (claims: object) => {
      stub.person = { sub: 'u', email_verified: true, ...claims };
      const client = browser();
      await client.logIn();
      return /title="role (\w+)"/.exec((await client.get('/sinks')).text)?.[1];
    };
    expect(await roleOf({ email: 'carol@example.com', groups: ['ops', 'sales'] })).toBe('operator');
    expect(await roleOf({ email: 'carol@example.com', groups: 'sales' })).toBe('viewer');
    expect(await roleOf({ email: 'bob@example.com', groups: ['ops'] })).toBe('viewer');
    expect(await roleOf({ email: 'ops', groups: ['Ops', 7, null] })).toBeUndefined();
    expect(await roleOf({ email: 'Bob@example.com', groups: [] })).toBeUndefined();
  });

  test('is missing: the page says who is logged in and what an administrator has to write, and there is no session', async () => {
    const { browser, stub, entries, failures } = await anOidcAdmin();
    stub.person = { sub: 'u-2', email: '<b>"eve@example.com' };
    const eve = browser();
    const refused = await eve.logIn();
    expect(refused.status).toBe(403);
    expect(refused.headers).not.toHaveProperty('set-cookie');
    expect(pageOf(refused.text.replaceAll('&lt;', '‹'))).toContain('You are logged in as ‹b>');
    expect(refused.text).not.toContain('<b>');
    expect(entries).toEqual([
      {
        who: '<b>"eve@example.com',
        via: 'oidc',
        address: '127.0.0.1',
        what: 'login refused',
        subject: 'u-2',
        issuer: stub.issuer,
        reason: 'role',
      },
    ]);
    expect(failures).toEqual([]);
    stub.person = { sub: 'u-2', email: 'eve@example.com' };
    expect(pageOf((await eve.logIn()).text)).toContain('add eve@example.com: viewer under admin.oidc.roles');
    expect((await eve.get('/sinks')).headers.location).toBe('/login?next=%2Fsinks');
    expect((await eve.post('/logout', 'everywhere=yes')).text).toContain(`${stub.issuer}/logout?`);
  });
});

describe('an attacker', () => {
  test('cannot use an answer of the provider twice', async () => {
    const { browser, stub } = await anOidcAdmin();
    const anna = browser();
    const back = stub.approve(await anna.begin());
    expect((await anna.callBack(back)).status).toBe(200);
    const again = await anna.callBack(back);
    expect(again.status).toBe(400);
    expect(again.headers).not.toHaveProperty('set-cookie');
    expect(again.text).toContain('This login did not begin in this browser');
  });

  test.each([true, false])(
    'cannot make a browser finish the login of another one, with a login of its own begun: %s',
    async (hasBegun) => {
      const { browser, stub, entries } = await anOidcAdmin();
      const [mallory, anna] = [browser(), browser()];
      const back = stub.approve(await mallory.begin());
      if (hasBegun) await anna.begin();
      const answer = await anna.callBack(back);
      expect(answer.status).toBe(400);
      expect(anna.cookies.has('leadsync_session')).toBe(false);
      expect((await mallory.callBack(back)).status).toBe(200); // the attempt did not use it up
      expect(entries.map(({ what }) => what)).toEqual(['login']);
    },
  );

  test('cannot choose the id of a browser', async () => {
    const { browser } = await anOidcAdmin();
    const anna = browser();
    anna.cookies.set('leadsync_login', 'known-to-mallory');
    await anna.begin();
    expect(anna.cookies.get('leadsync_login')).toMatch(/^[\w-]{43}$/);
  });

  test('cannot finish a login after 10 minutes', async () => {
    let nowMs = 0;
    const { browser, stub } = await anOidcAdmin({ monotonicMs: () => nowMs });
    const [anna, bob] = [browser(), browser()];
    const [late, early] = [stub.approve(await anna.begin()), stub.approve(await bob.begin())];
    nowMs = 10 * 60_000 - 1;
    expect((await bob.callBack(early)).status).toBe(200);
    nowMs += 1;
    expect((await anna.callBack(late)).status).toBe(400);
  });

  test.each([
    ['for another client', { idToken: { aud: 'another' } }, 'it is for another client'],
    ['of another issuer', { idToken: { iss: 'https://evil.example' } }, 'it is from another issuer'],
    ['of another login', { idToken: { nonce: 'another' } }, 'it belongs to another login'],
    ['without a nonce', { idToken: { nonce: undefined } }, 'it has no claim nonce'],
    ['that has expired', { idToken: { exp: Math.floor(Date.now() / 1000) - 120 } }, 'has already expired'],
    ['from the future', { idToken: { nbf: Math.floor(Date.now() / 1000) + 3_600 } }, 'Set the clocks'],
    ['without a signature', { signature: 'none' }, 'is not valid'],
    ['with the secret as its key', { signature: 'HS256' }, 'is not valid'],
    ['with another key', { signature: 'another key' }, 'is not valid'],
  ] as const)('cannot log in with an ID token %s', async (_, fault, message) => {
    const { browser, stub, entries, failures } = await anOidcAdmin();
    stub.fault = fault;
    const answer = await browser().logIn();
    expect(answer.status).toBe(401);
    expect(answer.headers).not.toHaveProperty('set-cookie');
    expect(pageOf(answer.text)).toContain(message);
    expect(entries).toEqual([{ via: 'oidc', address: '127.0.0.1', what: 'login refused', reason: 'token' }]);
    expect(failures.map(({ reason }) => reason)).toEqual(['token']);
  });

  test.each([[false], ['false'], [null], ['no']])(
    'cannot log in with an email address that is not verified: %j',
    async (verified) => {
      const { browser, stub } = await anOidcAdmin();
      stub.person = { sub: 'u-3', email: 'anna@example.com', email_verified: verified };
      const answer = await browser().logIn();
      expect(answer.status).toBe(403);
      expect(pageOf(answer.text)).toContain('your email address is not verified');
    },
  );

  test('is recorded without the name and role of the person who is logged in in the same browser', async () => {
    const { browser, stub, entries } = await anOidcAdmin();
    const anna = browser();
    await anna.logIn();
    stub.person = { sub: 'u-2', email: 'eve@example.com' };
    expect((await anna.callBack(stub.approve(await anna.begin()))).status).toBe(403);
    const refused = { via: 'oidc', address: '127.0.0.1', what: 'login refused' };
    expect(entries.at(-1)).toEqual({
      ...refused,
      who: 'eve@example.com',
      subject: 'u-2',
      issuer: stub.issuer,
      reason: 'role',
    });
    stub.fault = { idToken: { nonce: 'another' } };
    expect((await anna.callBack(stub.approve(await anna.begin()))).status).toBe(401);
    expect(entries.at(-1)).toEqual({ ...refused, reason: 'token' });
  });

  test('cannot fill the audit log with logins that fail', async () => {
    const { browser, entries } = await anOidcAdmin();
    for (let n = 0; n < 12; n += 1) {
      const client = browser();
      const state = new URL(await client.begin()).searchParams.get('state');
      await client.get(`/login/oidc/callback?error=access_denied&state=${state}`);
      await client.get('/login/oidc/callback?error=access_denied&state=of-nobody');
    }
    expect(entries).toHaveLength(10);
  });

  test('that begins ten thousand logins takes little memory, and pushes out only its own', () => {
    const begun = new BegunLogins(() => 0);
    const login = (state: string) => ({
      attempt: { address: '', redirectUri: '', state, nonce: '', verifier: '' },
      provider: 'p',
      next: '/',
    });
    const anna = begun.add(login('annas'), '192.0.2.1');
    for (let n = 0; n < 10_000; n += 1) begun.add(login(`m${n}`), '203.0.113.9');
    expect(begun.size).toBe(51);
    expect(begun.take('annas', anna)?.attempt.state).toBe('annas');
    for (let n = 0; n < 3_000; n += 1) begun.add(login(`x${n}`), `203.0.${n % 250}.1`);
    expect(begun.size).toBeLessThanOrEqual(2_000);
  });
});

describe('a provider that fails', () => {
  test.each([
    ['cancels', { error: 'access_denied' }, 401, 'did not let you in, or you cancelled'],
    ['has a failure', { error: 'server_error' }, 502, 'has an internal error (server_error)'],
    ['refuses the request', { error: 'invalid_scope' }, 502, 'Check client_id and scopes'],
    ['sends text', { error: '<b>hunter2</b>' }, 502, "refused leadsync's request. Check"],
  ])('is reported in a sentence: it %s', async (_, fields, status, message) => {
    const { browser, failures } = await anOidcAdmin();
    const client = browser();
    const state = new URL(await client.begin()).searchParams.get('state') ?? '';
    const query = new URLSearchParams({ ...fields, error_description: 'hunter2', state });
    const answer = await client.get(`/login/oidc/callback?${query}`);
    expect(answer.status).toBe(status);
    expect(pageOf(answer.text)).toContain(message);
    expect(answer.text + JSON.stringify(failures)).not.toContain('hunter2');
    expect(answer.text).toContain('Log in with Acme');
  });

  test.each([
    ['refuses the client', { tokenError: 'invalid_client' }, 'Check client_id and client_secret'],
    ['refuses the code', { tokenError: 'invalid_grant' }, 'no longer accepts this login (invalid_grant)'],
    ['is a proxy', { html: ['/token'] }, 'did not send a valid answer (status 200)'],
    ['has no keys', { html: ['/jwks'] }, 'did not send a valid answer (status 200)'],
  ])('is reported when it %s', async (_, fault, message) => {
    const { browser, stub } = await anOidcAdmin();
    stub.fault = fault;
    const answer = await browser().logIn();
    expect(answer.status).toBeGreaterThanOrEqual(401);
    expect(pageOf(answer.text)).toContain(message);
    stub.fault = {};
    expect((await browser().logIn()).status).toBe(200); // the next login reads its configuration again
  });

  test('does not affect pages, tokens and probes, and gets a new request at the next login', async () => {
    const { browser, stub, now } = await anOidcAdmin();
    stub.fault = { html: ['/.well-known/openid-configuration'] };
    const failed = await browser().get('/login/oidc?next=/leads');
    expect(failed.status).toBe(502);
    expect(pageOf(failed.text)).toContain(`There is no OpenID configuration below ${stub.issuer}.`);
    expect(failed.text).toContain('href="/login/oidc?next=%2Fleads"');
    expect((await browser().get('/livez')).status).toBe(200);
    expect((await browser().get('/api/v1/sinks', { authorization: `Bearer ${TOKEN}` })).status).toBe(200);
    stub.fault = {};
    expect((await browser().logIn()).status).toBe(200);
    await stub.close();
    now.provider = aProvider(stub);
    const down = await browser().get('/login/oidc');
    expect(pageOf(down.text)).toMatch(
      /The login provider at 127.0.0.1:\d+ refuses the connection \(ECONNREFUSED\)\./,
    );
  });
});

test('reported failures contain no code, token or claim', async () => {
  const { browser, stub, entries, failures } = await anOidcAdmin();
  for (const fault of [
    { idToken: { aud: 'another' } },
    { signature: 'another key' },
    { tokenError: 'odd' },
  ] as const) {
    stub.fault = fault;
    await browser().logIn();
  }
  const reported = JSON.stringify([
    entries,
    failures.map(({ message, hint, stack, cause }) => [message, hint, stack, cause]),
  ]);
  expect(failures).toHaveLength(3);
  for (const secret of [...stub.idTokens, 'anna@example.com', stub.clientSecret, 'u-1'])
    expect(reported).not.toContain(secret);
});
