import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Daemon } from '../../support/program/leadsync.ts';
import { accountOf, faultsOf } from '../../support/scene/oracle.ts';
import { openScene, type Scene, SECRET } from '../../support/scene/scene.ts';
import { selfSigned } from '../../support/servers/certificate.ts';
import type {
  ReceivedRequest,
  ReceiverAnswer,
  WebhookReceiver,
} from '../../support/servers/webhook-receiver.ts';
import { until } from '../../support/time/until.ts';
import { expectCalm } from '../calm.ts';
import { carriersOf } from '../over-carriers.ts';
import { deliveriesOf, logged, mustRun, statusOf, told } from '../telling.ts';
import { Gate } from './gate.ts';
import { InFlight } from './in-flight.ts';

// Faults 20 to 28. For each carrier, one daemon has a webhook for every kind of failure, all from the start, so that none may affect
// another. Each test checks its own webhooks, heals them, and compares the account with the promise.

const LEADS = 30;
const CONCURRENCY = 4;
const NOWHERE = 'https://receiver.leadsync.invalid/hooks/leads';
const OLD_SECRET = `whsec_${Buffer.alloc(24, 9).toString('base64')}`;
const REFUSALS: Readonly<Record<string, number>> = { 5: 400, 11: 413, 17: 422 };
/** The wait that each of these answers asks for: too long to be the usual wait by chance. */
const WAIT_SECONDS = 12;

describe.each(carriersOf(1))('failing webhooks, over the %s carrier', (carrier) => {
  const folder = mkdtempSync(join(tmpdir(), 'leadsync-webhooks-'));
  const inFlight = new InFlight();
  let gates: Record<'refused' | 'reset' | 'untrusted' | 'trusted', Gate>;
  let scene: Scene;
  let daemon: Daemon;

  beforeAll(async () => {
    gates = await makeGates(folder);
    scene = await openScene(folder, carrier, {
      stub: { leads: LEADS },
      sinks: { drop: { batch: { max: 100, wait: '200ms' } } },
      receivers: sinksThrough(gates),
    });
    for (const [name, gate] of Object.entries(gates)) {
      gate.leadsTo = Number(new URL(at(name).url).port);
      if (name !== 'refused') await gate.open();
    }
    for (const [name, answer] of Object.entries(answers(inFlight))) at(name).answerAlways(answer);
    daemon = await scene.start({ env: { NODE_EXTRA_CA_CERTS: join(folder, 'trusted.pem') } });
  });

  afterAll(async () => {
    await scene?.close();
    for (const gate of Object.values(gates ?? {})) await gate.shut();
    rmSync(folder, { recursive: true, force: true });
  });

  test('28. while a secret is rotated, a receiver with either secret can verify every request', async () => {
    await until('the leads have arrived', () => leadsAt('rotated').size === LEADS, 60_000);
    for (const { body, headers } of at('rotated').received)
      for (const secret of [SECRET, OLD_SECRET])
        expect(() => new Webhook(secret).verify(body.toString(), plain(headers))).not.toThrow();
    const { body, headers } = at('crm').received[0] ?? expect.unreachable('nothing has arrived');
    expect(() => new Webhook(OLD_SECRET).verify(body.toString(), plain(headers))).toThrow();
    expect(await faultsAt('rotated', 'crm')).toEqual([]);
  });

  test('27. a receiver that is down gets one probe at a time, and then its backlog, oldest first, within its concurrency', async () => {
    await told(daemon, 'sink-held', { sink: 'down' });
    const { received } = at('down');
    const probes = () => afterBurst(received);
    await until('a probe went out', () => probes().length > 0, 90_000);
    const triedBefore = new Set(received.map(leadIn));
    at('down').answerAlways(inFlight.answering(204, 20));
    const from = received.length;
    // leadsync notices by itself that the receiver is back.
    await until('the backlog arrives', () => leadsAt('down').size === LEADS, 90_000);
    const [first, second] = probes();
    expect([first, second].filter((probe) => !probe || !inFlight.wasAlone(probe))).toEqual([]);
    const wait = Number(second?.at) - Number(first?.at);
    expect(wait).toBeGreaterThan(3_500); // 5 s for the first wait, within 20%
    expect(inFlight.most).toBeLessThanOrEqual(CONCURRENCY);
    const ages = received
      .slice(from)
      .map(leadIn)
      .filter((lead) => !triedBefore.has(lead));
    for (const [place, lead] of ages.entries()) {
      // This many requests may overtake one another.
      const older = ages.slice(place + CONCURRENCY).filter((later) => later < lead);
      expect(older, `after lead ${lead}`).toEqual([]);
    }
    await told(daemon, 'sink-recovered', { sink: 'down' });
    expect(await faultsAt('down')).toEqual([]);
  });

  test('20. a receiver that refuses or resets connections, has no address or no trusted certificate is held with the reason, and no lead uses up an attempt', async () => {
    const codes = {
      refused: /\(ECONNREFUSED\)/,
      reset: /\((ECONNRESET|UND_ERR_SOCKET)\)/,
      nameless: /\((ENOTFOUND|EAI_AGAIN)\)/,
      untrusted: /\(DEPTH_ZERO_SELF_SIGNED_CERT\)/,
    };
    for (const sink of Object.keys(codes)) await told(daemon, 'sink-held', { sink });
    const { sinks } = await statusOf(scene);
    for (const [sink, code] of Object.entries(codes)) {
      expect(sinks[sink]).toMatchObject({
        state: 'held',
        held_reason: expect.stringMatching(code),
        pending: LEADS,
        dead: 0,
      });
    }
    const waiting = await deliveriesOf(scene, '--state', 'pending');
    const tried = waiting.filter(({ sink, attempts }) => sink in codes && attempts > 0);
    expect(tried).toEqual([]);
    expect(leadsAt('trusted').size).toBe(LEADS);
    await gates.refused.open();
    gates.reset.resets = false;
    await heal('refused', 'reset');
    expect(await faultsAt('refused', 'trusted')).toEqual([]);
    const { sinks: account } = await accountOf(scene);
    // The receiver accepted the requests but could not answer: the repeats have the same id.
    expect(account['reset']?.repeated.length).toBeGreaterThan(0);
    expect(faultsOf(await accountOf(scene), { repeats: true, at: ['reset'] })).toEqual([]);
  });

  test('21. one byte a second: the deadline covers the whole answer, and the sink does not wait for what follows the status', async () => {
    await until('leads got through beside the trickle', () => leadsAt('trickling').size === LEADS, 60_000);
    await told(daemon, 'sink-held', { sink: 'dripping' });
    const requests = at('dripping').received.length;
    await until(
      'they were left',
      () => inFlight.left.get('dripping') === at('dripping').received.length,
      60_000,
    );
    expect(requests).toBeLessThanOrEqual(20);
    const { sinks } = await statusOf(scene);
    expect(sinks['dripping']).toMatchObject({ state: 'held', pending: LEADS, dead: 0 });
    at('dripping').answerAlways(204);
    await heal('dripping');
    expect(await faultsAt('trickling', 'dripping')).toEqual([]);
  });

  test('22. a redirect is a failure and is not followed', async () => {
    await told(daemon, 'sink-held', { sink: 'moved' });
    expect((await statusOf(scene)).sinks['moved']).toMatchObject({
      state: 'held',
      held_reason: expect.stringMatching(/30[1-8]/),
      pending: LEADS,
      dead: 0,
    });
    at('moved').answerAlways(204);
    await heal('moved');
    expect(new Set(at('moved').received.map(({ path }) => path))).toEqual(new Set(['/hooks/leads']));
    expect(await faultsAt('moved')).toEqual([]);
  });

  test('23. 410 pauses the sink: its leads stay pending, nothing is sent, and leadsync reports it', async () => {
    await told(daemon, 'sink-paused', { sink: 'gone' });
    const { sinks } = await statusOf(scene);
    expect(sinks['gone']).toMatchObject({
      state: 'paused',
      paused_reason: expect.stringContaining('410'),
      pending: LEADS,
    });
    const requests = at('gone').received.length;
    expect(requests).toBeLessThanOrEqual(CONCURRENCY);
    at('gone').answerAlways(204);
    await mustRun(scene, 'resume', 'gone');
    await until('the leads have arrived', () => leadsAt('gone').size === LEADS, 60_000);
    expect(await faultsAt('gone')).toEqual([]);
  });

  test('23. 401, 403 and 404 hold the sink, which is probed', async () => {
    const names = { unauthorized: 401, forbidden: 403, missing: 404 };
    for (const [sink, status] of Object.entries(names)) {
      const { reason } = await told(daemon, 'sink-held', { sink });
      expect(reason).toContain(String(status));
      const burst = logged(daemon, 'sink-held', { sink })[0]?.['time'];
      const afterHold = () => at(sink).received.filter(({ at: when }) => when > new Date(String(burst)));
      await until(`${sink} is probed`, () => afterHold().length > 0, 90_000);
    }
    const { sinks } = await statusOf(scene);
    for (const sink of Object.keys(names)) expect(sinks[sink]).toMatchObject({ state: 'held', dead: 0 });
    for (const sink of Object.keys(names)) at(sink).answerAlways(204);
    await heal(...Object.keys(names));
    expect(await faultsAt(...Object.keys(names))).toEqual([]);
  });

  test('24. Retry-After is honoured in seconds and as a date, ignored in the past or if unreadable, and capped at an hour; other sinks are not slowed down', async () => {
    const names = ['seconds', 'date', 'past', 'unreadable', 'absurd'];
    for (const sink of names) await told(daemon, 'sink-held', { sink });
    await until('the others have arrived', () => leadsAt('crm').size === LEADS, 5_000);
    for (const sink of ['seconds', 'date']) {
      const { received } = at(sink);
      const probe = await until('it is probed', () => afterBurst(received)[0], 60_000);
      // A date has no fractions of a second.
      expect(pauseBefore(received, received.indexOf(probe))).toBeGreaterThan((WAIT_SECONDS - 1.1) * 1000);
    }
    const { sinks } = await statusOf(scene);
    const probeIn = (sink: string) => Date.parse(sinks[sink]?.probe_at ?? '') - Date.now();
    for (const sink of ['past', 'unreadable']) expect(probeIn(sink)).toBeLessThan(75_000);
    expect(probeIn('absurd')).toBeGreaterThan(30 * 60_000);
    expect(probeIn('absurd')).toBeLessThanOrEqual(3_600_000);
    for (const sink of names) at(sink).answerAlways(204);
    await heal(...names);
    expect(await faultsAt(...names)).toEqual([]);
  });

  test('25. a lead that is refused with 400, 413 or 422 dies alone, also in a batch, and can be retried', async () => {
    for (const sink of ['choosy', 'batched']) {
      const others = LEADS - Object.keys(REFUSALS).length;
      await until('the others have arrived', () => leadsAt(sink).size === others, 60_000);
      const dead = await until('three are dead', async () => {
        const rows = await deliveriesOf(scene, '--sink', sink, '--state', 'dead');
        return rows.length === 3 ? rows : undefined;
      });
      expect(dead.map((row) => [row.lead_id, /HTTP (\d+)/.exec(row.reason ?? '')?.[1]]).toSorted()).toEqual(
        Object.entries(REFUSALS)
          .map(([lead, status]) => [lead, String(status)])
          .toSorted(),
      );
      expect(logged(daemon, 'delivery-dead', { sink })).toHaveLength(3);
      expect(logged(daemon, 'sink-held', { sink })).toEqual([]);
      at(sink).answerAlways(204);
      await mustRun(scene, 'retry', '--sink', sink, '--state', 'dead');
      await until('they are brought', () => leadsAt(sink).size === LEADS, 60_000);
    }
    expect(await faultsAt('choosy', 'batched')).toEqual([]);
  });

  test('26. the sink reads only the beginning of an answer of 100 MB or without an end', async () => {
    for (const sink of ['huge', 'endless'])
      await until(`leads got through to ${sink}`, () => leadsAt(sink).size === LEADS, 90_000);
    for (const sink of ['huge', 'endless']) {
      await until('every answer was left', () => inFlight.left.get(sink) === LEADS, 60_000);
      expect(inFlight.sent.get(sink)).toBeLessThan(LEADS * 16e6);
    }
    expect(await faultsAt('huge', 'endless')).toEqual([]);
  });

  test('20. once the address is corrected and the certificate trusted, a restart delivers everything that was pending', async () => {
    await expectCalm(daemon);
    expect(await daemon.kill('SIGTERM')).toEqual({ code: 0, signal: null });
    const config = readFileSync(scene.configFile, 'utf8');
    writeFileSync(scene.configFile, config.replace(NOWHERE, at('nameless').url));
    daemon = await scene.start({ env: { NODE_EXTRA_CA_CERTS: join(folder, 'both.pem') } });
    await heal('nameless', 'untrusted');
    await expectCalm(daemon);
    // Across all tests of this file, at every sink: nothing is lost, and every repeat carries the same id.
    const account = await accountOf(scene);
    expect(faultsOf(account, { repeats: LEADS, at: ['reset'] })).toEqual([]);
    const others = Object.keys(account.sinks).filter((sink) => sink !== 'reset');
    expect(faultsOf(account, { repeats: false, at: others })).toEqual([]);
  });

  function at(sink: string): WebhookReceiver {
    return scene.receivers[sink] ?? expect.unreachable(`there is no sink ${sink}`);
  }

  /** Returns the leads that a receiver has accepted. */
  function leadsAt(sink: string): Set<number> {
    return new Set(
      at(sink).received.flatMap((request) =>
        request.status === 204 || request.status === 200 ? leadsIn(request) : [],
      ),
    );
  }

  /** Retries as an operator does who knows that the cause is fixed, and expects everything to arrive. */
  async function heal(...sinks: string[]): Promise<void> {
    for (const sink of sinks) await mustRun(scene, 'resume', sink);
    for (const sink of sinks)
      await until(`every lead is at ${sink}`, () => leadsAt(sink).size === LEADS, 60_000);
  }

  async function faultsAt(...sinks: string[]): Promise<string[]> {
    return faultsOf(await accountOf(scene), { repeats: false, at: sinks });
  }
});

async function makeGates(folder: string) {
  const [trusted, untrusted] = [selfSigned('trusted'), selfSigned('untrusted')];
  writeFileSync(join(folder, 'trusted.pem'), trusted.cert);
  writeFileSync(join(folder, 'both.pem'), trusted.cert + untrusted.cert);
  const gates = {
    refused: await Gate.make(),
    reset: await Gate.make(),
    untrusted: await Gate.make(untrusted),
    trusted: await Gate.make(trusted),
  };
  gates.reset.resets = true;
  return gates;
}

/** Returns the sinks, each with its own options. */
function sinksThrough(gates: Readonly<Record<string, Gate>>) {
  const own: Record<string, Record<string, unknown>> = {
    nameless: { url: NOWHERE },
    dripping: { timeout: '1s' },
    batched: { batch: { max: 20, wait: '200ms' } },
    rotated: { previous_secret: OLD_SECRET },
    ...Object.fromEntries(Object.entries(gates).map(([name, { url }]) => [name, { url }])),
  };
  const plainly = ['trickling', 'moved', 'gone', 'unauthorized', 'forbidden', 'missing', 'down', 'choosy'];
  const asking = ['seconds', 'date', 'past', 'unreadable', 'absurd', 'huge', 'endless'];
  return Object.fromEntries(
    [...plainly, ...asking, ...Object.keys(own)].map((name) => [
      name,
      { concurrency: CONCURRENCY, ...own[name] },
    ]),
  );
}

/** Returns how each receiver answers until it is healed. */
function answers(inFlight: InFlight): Record<string, ReceiverAnswer> {
  const redirects = [301, 302, 303, 307, 308];
  let redirected = 0;
  return {
    down: inFlight.answering(503, 50),
    trickling: inFlight.body('trickling', 'x', 1_000),
    dripping: (_, res) => inFlight.drip('dripping', res),
    moved: (_, res) => {
      const status = redirects[redirected++ % redirects.length] ?? 302;
      res.writeHead(status, { location: '/elsewhere' }).end();
    },
    gone: 410,
    unauthorized: 401,
    forbidden: 403,
    missing: 404,
    seconds: { status: 429, headers: { 'retry-after': String(WAIT_SECONDS) } },
    date: (_, res) => {
      const at = new Date(Date.now() + WAIT_SECONDS * 1000).toUTCString();
      res.writeHead(503, { 'retry-after': at }).end();
    },
    past: { status: 429, headers: { 'retry-after': new Date(0).toUTCString() } },
    unreadable: { status: 503, headers: { 'retry-after': 'after lunch' } },
    absurd: { status: 429, headers: { 'retry-after': '99999999999' } },
    choosy: refuseSome,
    batched: refuseSome,
    huge: inFlight.body('huge', 'x'.repeat(64 * 1024), 0, 1600),
    endless: inFlight.body('endless', 'x'.repeat(64 * 1024), 0),
  };
}

function refuseSome(request: ReceivedRequest, res: ServerResponse): void {
  const status = leadsIn(request).map((lead) => REFUSALS[lead]);
  res.writeHead(status.find((one) => one !== undefined) ?? 204).end();
}

function leadsIn({ body }: ReceivedRequest): number[] {
  return [...body.toString().matchAll(/"data":\{"id":(\d+),/g)].map(([, id]) => Number(id));
}

function leadIn(request: ReceivedRequest): number {
  return leadsIn(request)[0] ?? 0;
}

/** Returns the probes: the requests after the first pause, which is when the sink was held. */
function afterBurst(requests: readonly ReceivedRequest[]): ReceivedRequest[] {
  const first = requests.findIndex((_, index) => pauseBefore(requests, index) > 3_000);
  return first === -1 ? [] : requests.slice(first);
}

/** Returns the pause before a request, in ms. */
function pauseBefore(requests: readonly ReceivedRequest[], index: number): number {
  const [before, request] = [requests[index - 1], requests[index]];
  return before && request ? request.at.getTime() - before.at.getTime() : 0;
}

function plain(headers: ReceivedRequest['headers']): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
}
