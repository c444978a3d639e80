// The service's API description, to the letter: nock replays every answer in it, and compares each request with the method, path, headers and
// body in it. Any other request gets no answer. Broken connections are tested with real servers.
import { readFileSync } from 'node:fs';
import nock from 'nock';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { version } from '../../src/platform/process/version.ts';
import { HeldClock } from '../support/time/held-clock.ts';
import { aSource, read, type SourceSetting } from './a-source.ts';

const SERVICE = {
  url: 'https://leads.example.com',
  clientId: 'CLIENT_ID',
  clientSecret: 'CLIENT_SECRET',
};
const CLIENT = { client_id: 'CLIENT_ID', client_secret: 'CLIENT_SECRET' };
const REDIRECT_URI = 'https://app.example.com/callback';
const HOURS_MS = 3_600_000;

/** The examples of the description: two leads with every field, one address null, and a token. */
const EXAMPLES = JSON.parse(readFileSync(new URL('fixtures/description.json', import.meta.url), 'utf8'));

/** A complete request as it was sent. */
interface Sent {
  readonly request: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The fields of its form, by name; undefined without a body. */
  readonly form: readonly (readonly [string, string])[] | undefined;
}

let sent: Sent[] = [];
/** Requests that the description does not answer. */
let unexpected: string[] = [];
nock.emitter.on('no match', ({ method, url }) => unexpected.push(`${method} ${url}`));

beforeEach(() => {
  sent = [];
  unexpected = [];
  nock.disableNetConnect();
});

afterEach(() => {
  const unasked = nock.pendingMocks();
  nock.cleanAll();
  nock.enableNetConnect();
  expect({ unasked, unexpected }).toEqual({ unasked: [], unexpected: [] });
});

describe('the described service', () => {
  test.each([
    ['no scope', {}, {}],
    ['the configured scopes', { scope: 'leads profile' }, { scope: 'leads profile' }],
  ])(
    'leadsync gets a token with its own credentials, with %s, and reads every lead',
    async (_, options, scope) => {
      answersToken();
      answersLeads();
      const { items, ids } = await read(aSource(SERVICE, { options }).source);
      expect(ids).toEqual([4711, 4712]);
      expect(items.map((item) => item.kind)).toEqual(['lead', 'lead']);
      expect(sent).toEqual([
        tokenRequest({ grant_type: 'client_credentials', ...CLIENT, ...scope }),
        listingRequest('ACCESS_TOKEN'),
      ]);
    },
  );

  test('leadsync renews an expired token with its refresh token', async () => {
    answersToken();
    answersLeads();
    const clock = new HeldClock();
    const { source } = aSource(SERVICE, { clock });
    await read(source);
    clock.jump(2 * HOURS_MS);
    sent = [];
    answersToken({ access_token: 'SECOND_ACCESS_TOKEN', refresh_token: 'SECOND_REFRESH_TOKEN' });
    answersLeads();
    expect((await read(source)).ids).toEqual([4711, 4712]);
    expect(sent).toEqual([
      tokenRequest({ grant_type: 'refresh_token', refresh_token: 'REFRESH_TOKEN', ...CLIENT }),
      listingRequest('SECOND_ACCESS_TOKEN'),
    ]);
  });

  test('a login exchanges its code, with the redirect address of the authorization step', async () => {
    const { source, login } = await aLogin({ options: { redirect_uri: REDIRECT_URI } });
    const asked = new URL(login.address).searchParams;
    expect(asked.get('redirect_uri')).toBe(REDIRECT_URI);
    answersToken();
    answersLeads();
    await login.finish(`${REDIRECT_URI}?code=AUTHORIZATION_CODE&state=${asked.get('state')}`);
    expect((await read(source)).ids).toEqual([4711, 4712]);
    expect(sent).toEqual([
      tokenRequest({
        grant_type: 'authorization_code',
        code: 'AUTHORIZATION_CODE',
        redirect_uri: REDIRECT_URI,
        // The description lacks it; a service that does not know PKCE ignores it (RFC 7636, section 5).
        code_verifier: expect.stringMatching(/^[\w-]{43}$/),
        ...CLIENT,
      }),
      listingRequest('ACCESS_TOKEN'),
    ]);
  });

  test('an empty listing is a valid listing', async () => {
    answersToken();
    answersLeads([]);
    expect((await read(aSource(SERVICE).source)).ids).toEqual([]);
  });
});

function answersToken(more: Readonly<Record<string, unknown>> = {}): void {
  nock(SERVICE.url)
    .post('/oauth/token')
    .reply(async (request: Request) => {
      await note(request);
      return [200, { ...EXAMPLES.token, ...more }, { 'content-type': 'application/json' }];
    });
}

function answersLeads(leads: unknown = EXAMPLES.leads): void {
  nock(SERVICE.url)
    .get('/api/v1/leads')
    .reply(async (request: Request) => {
      await note(request);
      return [200, JSON.stringify(leads), { 'content-type': 'application/json' }];
    });
}

async function note(request: Request): Promise<void> {
  const { pathname, search } = new URL(request.url);
  const body = await request.text();
  sent.push({
    request: `${request.method} ${pathname}${search}`,
    headers: Object.fromEntries(request.headers),
    form: body === '' ? undefined : byName([...new URLSearchParams(body)]),
  });
}

function byName(fields: readonly (readonly [string, string])[]): Sent['form'] {
  return fields.toSorted(([one], [other]) => one.localeCompare(other));
}

const OURS = {
  host: 'leads.example.com',
  'user-agent': `leadsync/${version}`,
  'accept-encoding': 'gzip, br',
  connection: 'keep-alive',
};

function tokenRequest(form: Readonly<Record<string, string>>): Sent {
  const headers = {
    ...OURS,
    accept: 'application/json',
    'content-length': expect.stringMatching(/^\d+$/),
    'content-type': 'application/x-www-form-urlencoded;charset=UTF-8',
  };
  return { request: 'POST /oauth/token', headers, form: byName(Object.entries(form)) };
}

function listingRequest(token: string): Sent {
  const headers = { ...OURS, accept: 'application/json', authorization: `Bearer ${token}` };
  return { request: 'GET /api/v1/leads', headers, form: undefined };
}

async function aLogin(setting: SourceSetting) {
  const { source } = aSource(SERVICE, setting);
  const login = await source.startLogin();
  onTestFinished(() => login.close());
  return { source, login };
}
