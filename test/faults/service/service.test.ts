import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { SourceErrorCode } from '../../../src/source/contract/source.ts';
import { brokenLeads, unusualLeads } from '../../stub/odd-leads.ts';
import type { ListingMisbehaviourName, Stub, StubOptions, TokenFaultName } from '../../stub/stub.ts';
import type { Daemon } from '../../support/program/leadsync.ts';
import { accountOf, faultsOf } from '../../support/scene/oracle.ts';
import { openScene, type Scene } from '../../support/scene/scene.ts';
import { until } from '../../support/time/until.ts';
import { expectCalm } from '../calm.ts';
import { statusOf } from '../telling.ts';
import { ToldLog } from './told-log.ts';

// Faults 35 to 40, and the service's half of fault 41, on the in-process carrier: leads are recorded before any carrier sees them. One
// daemon polls a service for each misbehaviour, all from the start, so that none may affect another. Each service misbehaves until leadsync
// has reported it twice, and shows two more leads when it behaves again.

/** Number of leads that each service shows from the start. */
const LEADS = 5;
const MORE = 2;

interface Wrong {
  readonly listing?: ListingMisbehaviourName;
  readonly token?: TokenFaultName;
  readonly retryAfter?: string;
  readonly delayMs?: number;
  /** The error code that leadsync reports; undefined if this is not a fault and leads flow. */
  readonly code: SourceErrorCode | readonly SourceErrorCode[] | undefined;
}

/** Misbehaviours by the name of the source, in the order of the faults in docs/reliability.md. */
const WRONG = {
  truncated: { listing: 'truncated', code: 'incomplete' },
  'truncated-chunked': { listing: 'truncated-chunked', code: 'incomplete' },
  'cut-short': { listing: 'cut-short', code: 'incomplete' },
  'no-final-bracket': { listing: 'no-final-bracket', code: 'incomplete' },
  reset: { listing: 'reset', code: 'unreachable' },
  // The reset may overtake the beginning of the answer.
  'reset-midway': { listing: 'reset-midway', code: ['incomplete', 'unreachable'] },
  hanging: { listing: 'hang', code: 'unreachable' },
  'hanging-midway': { listing: 'hang-midway', code: 'incomplete' },
  trickling: { listing: 'trickle', delayMs: 400, code: 'incomplete' },
  slow: { listing: 'slow', delayMs: 300, code: undefined },
  html: { listing: 'html', code: 'protocol' },
  'no-content': { listing: 'no-content', code: 'protocol' },
  unasked: { listing: 'unasked-not-modified', code: 'protocol' },
  'empty-body': { listing: 'empty-body', code: 'incomplete' },
  'wrong-type': { listing: 'wrong-content-type', code: 'protocol' },
  bom: { listing: 'bom', code: undefined },
  'gzip-cut': { listing: 'gzip-cut', code: 'incomplete' },
  object: { listing: 'object', code: 'protocol' },
  trailing: { listing: 'trailing-text', code: 'protocol' },
  redirect: { listing: 'redirect', code: 'protocol' },
  'not-found': { listing: 'not-found', code: 'protocol' },
  'token-down': { token: 'down', code: 'unreachable' },
  'token-slow': { token: 'slow', delayMs: 300, code: undefined },
  'token-hanging': { token: 'hang', code: 'unreachable' },
  'token-hanging-midway': { token: 'hang-midway', code: 'unreachable' },
  'token-limited': { token: 'rate-limited', retryAfter: '3', code: 'rate-limited' },
  'token-error': { token: 'server-error', code: 'server' },
  'token-unavailable': { token: 'unavailable', retryAfter: '3', code: 'server' },
  'token-gateway': { token: 'bad-gateway', code: 'server' },
  'token-html': { token: 'html', code: 'protocol' },
  'token-not-json': { token: 'not-json', code: 'protocol' },
  'token-untyped': { token: 'no-token-type', code: 'protocol' },
  'token-absent': { token: 'no-access-token', code: 'protocol' },
  'bearer-in-small-letters': { token: 'lower-case-bearer', code: undefined },
  'expires-missing': { token: 'expires-missing', code: undefined },
  'expires-zero': { token: 'expires-zero', code: undefined },
  'expires-text': { token: 'expires-text', code: undefined },
  'expires-huge': { token: 'expires-huge', code: undefined },
  'no-refresh-token': { token: 'no-refresh-token', code: undefined },
  'wrong-secret': { token: 'unauthorized', code: 'credentials' },
  'bad-request': { token: 'bad-request', code: 'credentials' },
  'invalid-grant': { token: 'invalid-grant', code: 'credentials' },
  unauthorized: { listing: 'unauthorized', code: 'unauthorized' },
  forbidden: { listing: 'forbidden', code: 'forbidden' },
  'server-error': { listing: 'server-error', code: 'server' },
  unavailable: { listing: 'unavailable', retryAfter: '4', code: 'server' },
  'bad-gateway': { listing: 'bad-gateway', code: 'server' },
  limited: { listing: 'rate-limited', retryAfter: '4', code: 'rate-limited' },
  absurd: { listing: 'rate-limited', retryAfter: '99999999', code: 'rate-limited' },
} as const satisfies Record<string, Wrong>;

type Name = keyof typeof WRONG;
const wrong: Readonly<Record<string, Wrong>> = WRONG;
const names = Object.keys(WRONG) as Name[];
/** Faults that waiting does not fix soon; a restart retries immediately. */
const PATIENT: readonly Name[] = ['wrong-secret', 'bad-request', 'invalid-grant', 'absurd'];

/** Well-behaved services whose listing the tests change. */
const CALM: Readonly<Record<string, StubOptions>> = {
  repeating: {},
  'odd-ids': {},
  breaking: {},
  spoilt: {},
  unusual: {},
  emptied: {},
  shuffling: {},
  'once-refused': {},
  ahead: { now: () => new Date(Date.now() + 10 * 60_000) },
  behind: { now: () => new Date(Date.now() - 10 * 60_000) },
  rotating: { tokenLifetimeSeconds: 3, refreshRotation: 'at-once' },
  revoked: { tokenLifetimeSeconds: 3, refreshRotation: 'at-once' },
  losing: { tokenLifetimeSeconds: 3, refreshRotation: 'at-once' },
};

const folder = mkdtempSync(join(tmpdir(), 'leadsync-services-'));
const log = new ToldLog();
/** The course of each misbehaving service, from its first failure until its leads are everywhere. */
const stories = new Map<string, Promise<void>>();
let scene: Scene;
let daemon: Daemon;

beforeAll(async () => {
  const options = { leads: LEADS };
  const all = { ...Object.fromEntries(names.map((name) => [name, {}])), ...CALM };
  scene = await openScene(folder, 'in-process', {
    stub: options,
    source: { timeout: '2s', deadline: '5s' },
    sinks: {
      crm: { events: ['created', 'updated'] },
      drop: { events: ['created', 'updated'], batch: { max: 1_000, wait: '500ms' } },
    },
    services: Object.fromEntries(
      Object.entries(all).map(([name, own], index) => [
        name,
        { ...options, ...own, firstId: (index + 1) * 10_000 },
      ]),
    ),
  });
  for (const name of names) {
    const { code: _, ...misbehaviour } = wrong[name] ?? expect.unreachable(name);
    at(name).misbehave(misbehaviour);
  }
  daemon = await scene.start({ onStderr: log.add });
  for (const name of names) {
    const story = tell(name);
    story.catch(() => undefined); // the test of this service reports the error
    stories.set(name, story);
  }
});

afterAll(async () => {
  await scene?.close();
  rmSync(folder, { recursive: true, force: true });
});

const ofPoint = {
  35: names.slice(0, names.indexOf('token-down')),
  39: names.slice(names.indexOf('token-down'), names.indexOf('unauthorized')),
  40: names.slice(names.indexOf('unauthorized')),
};

test.each(ofPoint[35])(
  '35. leadsync reports a listing that is %s with the right code, and every lead arrives once it is correct',
  expectStory,
  120_000,
);

test.each(ofPoint[39])(
  '39. leadsync reports a faulty token endpoint (%s) with the right code without flooding it, and leads arrive once it works',
  expectStory,
  120_000,
);

test.each(ofPoint[40])(
  '40. leadsync reports a failing service (%s) with the right code and requests it less and less often',
  expectStory,
  120_000,
);

test('36. an id that occurs twice in one listing is one lead, whose newest content reaches every sink', async () => {
  const service = at('repeating');
  await until('its leads are everywhere', () => isEverywhere(service), 60_000);
  await showFor(service, 'repeated-id', 2);
  await showFor(service, 'repeated-id-changed', 2);
  const [first = 0] = service.served.ids();
  // Different from what was shown with it, so that it can be distinguished.
  service.changeLead(first);
  service.changeLead(first);
  await until('the newest content is everywhere', () => isEverywhere(service), 60_000);
  expect(log.of('poll-failed', 'repeating')).toEqual([]);
});

test('36. leads whose id is a string, null, missing, negative, a fraction or above 2^63 are rejected, and ids up to 2^63 arrive exactly', async () => {
  await showFor(at('odd-ids'), 'odd-ids', 2);
  const odd = ['9007199254740993', '9223372036854775807'];
  await until('the odd ones that are right are everywhere', () => haveArrived(odd), 60_000);
  const [rejection] = log.of('leads-rejected', 'odd-ids');
  expect(rejection?.['rejected']).toBe(10);
  expect(log.of('poll-failed', 'odd-ids')).toEqual([]);
});

test('37. a lead that is not UTF-8 is rejected alone: those after it arrive, and it arrives once it is correct', async () => {
  const service = at('spoilt');
  service.misbehave({ listing: 'bad-utf8' });
  service.addLeads(MORE);
  const rejection = await until(
    'leadsync reports the rejection',
    () => log.of('leads-rejected', 'spoilt')[0],
    60_000,
  );
  expect(rejection['rejected']).toBe(1);
  expect(rejection['reasons']).toEqual(['is not valid UTF-8']);
  expect(log.of('poll-failed', 'spoilt').filter(({ code }) => code === 'protocol')).toEqual([]);
  service.behave();
  await until('all are everywhere', () => isEverywhere(service), 60_000);
});

test('37. leads that break the description are rejected with the reason, stop no other, show in status, and arrive once correct', async () => {
  const service = at('breaking');
  const broken = brokenLeads();
  service.misbehave({ listing: 'broken-leads' });
  service.addLeads(MORE);
  await until('the others are everywhere', () => isEverywhere(service), 60_000);
  const rejection = await until(
    'leadsync reports the rejection',
    () => log.of('leads-rejected', 'breaking')[0],
    60_000,
  );
  expect(rejection['rejected']).toBe(broken.length);
  expect((await statusOf(scene)).sources['breaking']).toMatchObject({ leads_rejected: broken.length });
  const late =
    broken.find(({ what }) => what === 'client_email is null') ?? expect.unreachable('no such lead');
  const mended = late.text.replace('"client_email":null', '"client_email":"late@example.com"');
  service.behave();
  service.addRaw(mended);
  const id = /"id":(\d+)/.exec(mended)?.[1] ?? '';
  await until('the one that came right is everywhere', () => haveArrived([id]), 60_000);
  service.removeRaw(mended);
  await until(
    'the status shows none any more',
    async () => (await statusOf(scene)).sources['breaking']?.leads_rejected === 0,
    60_000,
  );
});

test('37. leads with unknown fields, no address, no answers or any text that strangers type arrive to the last byte', async () => {
  const service = at('unusual');
  await showFor(service, 'unusual-leads', 2);
  const ids = unusualLeads().map(({ text }) => /"id"\s*:\s*(\d+)/.exec(text)?.[1] ?? '');
  await until('the leads are everywhere', () => haveArrived(ids), 60_000);
  // The account at the end checks that they are unaltered.
  expect(log.of('leads-rejected', 'unusual')).toEqual([]);
});

test('38. leadsync warns of a listing that becomes empty, and removes nothing', async () => {
  const service = at('emptied');
  await until('its leads are everywhere', () => isEverywhere(service), 60_000);
  await showFor(service, 'empty', 2);
  expect(log.of('listing-emptied', 'emptied')).toMatchObject([{ before: LEADS, level: 'warn' }]);
  expect((await statusOf(scene)).sources['emptied']).toMatchObject({ leads: LEADS });
  service.addLeads(MORE);
  await until('new leads are everywhere', () => isEverywhere(service), 60_000);
});

test('38. a listing that shrinks, shuffles, reverses and inserts old leads in the middle delivers each lead once', async () => {
  const service = at('shuffling');
  await until('its leads are everywhere', () => isEverywhere(service), 60_000);
  const first = service.served.ids()[0] ?? 0;
  for (const listing of ['shrunk', 'shuffled', 'reversed'] as const) await showFor(service, listing, 1);
  service.addLeads(3, { from: first - 100 });
  service.misbehave({ listing: 'shuffled', times: 2 });
  service.addLeads(3);
  await until('new leads are everywhere', () => isEverywhere(service), 60_000);
  expect(log.of('poll-failed', 'shuffling')).toEqual([]);
});

test('39. a refresh token that is rotated, revoked or lost costs at most one client credentials request, and no lead', async () => {
  at('losing').misbehave({ token: 'answer-lost', times: 1 });
  at('revoked').revoke('refresh');
  const renewThrice = async (name: string) => {
    const before = at(name).tokenRequests;
    await until(`${name} renews`, () => at(name).tokenRequests >= before + 3, 60_000);
    at(name).addLeads(MORE);
    await until('new leads are everywhere', () => isEverywhere(at(name)), 60_000);
    expect(at(name).tokenRequests).toBeLessThanOrEqual(at(name).listingRequests + 2);
  };
  await Promise.all(['rotating', 'revoked', 'losing'].map(renewThrice));
  // Client credentials are requested again only where the refresh token no longer works.
  expect(log.of('token-fallback', 'rotating')).toEqual([]);
  for (const name of ['revoked', 'losing']) expect(log.of('token-fallback', name)).toHaveLength(1);
});

test('40. a token that the listing refuses once is replaced by one new token, and the same poll continues', async () => {
  const service = at('once-refused');
  await until('its leads are everywhere', () => isEverywhere(service), 60_000);
  service.revoke('all');
  service.addLeads(MORE);
  await until('new leads are everywhere', () => isEverywhere(service), 60_000);
  expect(log.of('poll-failed', 'once-refused')).toEqual([]);
  expect(log.of('token-renewed', 'once-refused')).toHaveLength(2);
});

test.each(['ahead', 'behind'])(
  '41. a service whose clock is ten minutes %s is read as usual, with one token',
  async (name) => {
    at(name).addLeads(MORE);
    await until('its leads are everywhere', () => isEverywhere(at(name)), 60_000);
    expect(log.of('poll-failed', name)).toEqual([]);
    expect(at(name).tokenRequests).toBe(1);
  },
);

test('35 to 40. when all services behave again, every lead of each is at every sink once, byte for byte', async () => {
  await Promise.allSettled(stories.values());
  for (const service of Object.values(scene.services)) service.behave();
  // A restart immediately retries what an operator has fixed.
  expect(await daemon.kill('SIGTERM')).toEqual({ code: 0, signal: null });
  daemon = await scene.start({ onStderr: log.add });
  await until('every lead is everywhere', () => scene.complete(), 90_000);
  await expectCalm(daemon);
  expect(faultsOf(await accountOf(scene), { repeats: false })).toEqual([]);
});

/** Lets a service misbehave until leadsync has reported it twice, then behave. Resolves once its leads are everywhere. */
async function tell(name: Name): Promise<void> {
  const service = at(name);
  if (wrong[name]?.code !== undefined) {
    const failures = PATIENT.includes(name) ? 1 : 2;
    const what = `${failures} failures of ${name} are told`;
    await until(what, () => log.of('poll-failed', name).length >= failures, 90_000);
  } else {
    await until(`${name} has been read twice`, () => service.listingRequests >= 2, 90_000);
  }
  service.behave();
  service.addLeads(MORE);
  if (!PATIENT.includes(name))
    await until(`the leads of ${name} are everywhere`, () => isEverywhere(service), 90_000);
}

async function expectStory(name: Name): Promise<void> {
  await stories.get(name);
  const failures = log.of('poll-failed', name);
  const { code, retryAfter } = wrong[name] ?? expect.unreachable(name);
  if (code === undefined) expect(failures).toEqual([]);
  else {
    const codes: readonly unknown[] = [code].flat();
    expect(failures.filter((failure) => codes.includes(failure['code']))).not.toEqual([]);
    expectBackOff(failures, Number(retryAfter ?? 0) * 1_000);
    // A poll makes one request, and one more with a new token.
    const { listingRequests, tokenRequests } = at(name);
    const polls = failures.length + listingRequests;
    expect(tokenRequests).toBeLessThanOrEqual(polls + 1);
  }
  if (PATIENT.includes(name)) {
    const { listingRequests, tokenRequests } = at(name);
    expect(listingRequests + tokenRequests).toBeLessThanOrEqual(2);
  }
}

/** Expects each wait to be twice the last, within 20%, and never shorter than the service asks for, up to an hour. */
function expectBackOff(failures: readonly Readonly<Record<string, unknown>>[], askedMs: number): void {
  for (const { failures: inARow, retryInMs, time, code } of failures) {
    const firstMs = code === 'credentials' ? 60_000 : 1_000;
    const least = Math.max(0.8 * firstMs * 2 ** (Number(inARow) - 1), Math.min(askedMs, 3_600_000));
    expect(Number(retryInMs), `at ${time}`).toBeGreaterThanOrEqual(least);
    expect(Number(retryInMs)).toBeLessThanOrEqual(Math.max(3_600_000, 1.2 * least));
  }
}

/** Shows an odd listing for a number of polls, then the correct one. */
async function showFor(service: Stub, listing: ListingMisbehaviourName, polls: number): Promise<void> {
  const before = service.listingRequests;
  service.misbehave({ listing, times: polls });
  // One more poll: the last odd listing has been read once the next one is requested.
  await until(`${listing} was read`, () => service.listingRequests > before + polls, 60_000);
}

/** Whether a service's leads were served and are at the webhook, in the files and in the table. */
async function isEverywhere({ served, shown }: Stub): Promise<boolean> {
  const ids = served.ids();
  if (ids.length < shown) return false;
  return haveArrived(ids.map((id) => `${id}:${served.newest(id)}`));
}

/** Whether these leads, by id or by id and version, are at every sink. */
async function haveArrived(wanted: readonly string[]): Promise<boolean> {
  const held = await heldNow();
  return held.every((there) => wanted.every((lead) => there.has(lead)));
}

let asked: { at: number; held: Promise<readonly ReadonlySet<string>[]> } | undefined;

/** Returns what the sinks hold, by id and by id and version. Concurrent callers share one result for a while. */
function heldNow(): Promise<readonly ReadonlySet<string>[]> {
  if (!asked || performance.now() - asked.at > 250) {
    const held = scene
      .held()
      .then((sinks) =>
        Object.values(sinks).map(
          (leads) => new Set(leads.flatMap(({ lead, version }) => [lead, `${lead}:${version}`])),
        ),
      );
    asked = { at: performance.now(), held };
  }
  return asked.held;
}

function at(name: string): Stub {
  return scene.services[name] ?? expect.unreachable(`there is no service ${name}`);
}
