import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { stringify } from 'yaml';
import { loadConfig } from '../../src/config/load-config.ts';
import { Daemon } from '../../src/daemon/daemon.ts';
import { sinkTypes } from '../../src/sinks/registry.ts';
import { startStub } from '../stub/stub.ts';
import { tempDir } from '../support/files/temp-dir.ts';
import { startWebhookReceiver } from '../support/servers/webhook-receiver.ts';
import { until } from '../support/time/until.ts';
import { GivenDuties } from './duties/given-duties.ts';
import { Reported } from './joints/fakes.ts';

const LEADS = 40;

/** A daemon in this process whose duties the test gives and takes. */
async function aScene({ every = '1h' } = {}) {
  const stub = await startStub({ leads: LEADS });
  onTestFinished(() => stub.close());
  const crm = await startWebhookReceiver();
  onTestFinished(() => crm.close());
  const file = join(tempDir(), 'leadsync.yaml');
  const { url: base_url, clientId: client_id, clientSecret: client_secret } = stub;
  const source = { base_url, client_id, client_secret };
  const write = (pollEvery: string) =>
    writeFileSync(
      file,
      stringify({
        data_dir: './data',
        sources: { main: { ...source, poll: { every: pollEvery } } },
        sinks: { crm: { type: 'webhook', url: crm.url } },
        admin: { listen: 'off' },
      }),
    );
  write(every);
  const load = () => loadConfig(file, { sinkTypes, env: {} });
  const reported = new Reported();
  const start = async (duties: GivenDuties) => {
    const daemon = await Daemon.start({
      config: load(),
      load,
      role: { kind: 'run', deliver: true },
      admin: undefined,
      log: { write: () => undefined },
      subscribers: [reported.emit],
      duties,
    });
    let stopped: Promise<boolean> | undefined;
    const stop = () => {
      stopped ??= daemon.stop('the test', 60_000);
      return stopped;
    };
    onTestFinished(async () => void (await stop()));
    return { daemon, stop };
  };
  /** Waits until every lead that the service shows has been sent. Returns how often each was. */
  const allArrived = async () => {
    const ids = () => new Set(crm.received.map(({ headers }) => headers['webhook-id']));
    await until('every lead has arrived', () => ids().size === stub.shown);
    return crm.received.length;
  };
  return { stub, crm, reported, start, write, allArrived };
}

/** Returns a misbehaviour that makes the listing hang until `end` is called, and whether the request has arrived. */
function aHangingListing(stub: Awaited<ReturnType<typeof startStub>>) {
  const { promise, resolve: end } = Promise.withResolvers<void>();
  const before = stub.listingRequests;
  stub.misbehave({ listing: 'slow', times: 1, until: promise });
  onTestFinished(() => end());
  return { end, asked: () => stub.listingRequests > before };
}

test('a poll ends when its duty is lost; taken again, the source is polled immediately, and every lead arrives once', async () => {
  const { stub, reported, start, allArrived } = await aScene();
  const { asked } = aHangingListing(stub);
  const duties = new GivenDuties('poll:main', 'dispatch:crm');
  const { daemon } = await start(duties);
  await until('a poll is in progress', asked);
  duties.lose('poll:main');
  await until('the poll has ended', () => duties.waiting('poll:main') === 1);
  const [source] = (await daemon.status()).sources;
  expect(source?.lastPoll).toMatchObject({ status: 'failed' });
  // The service is not at fault, so it has not failed.
  expect(reported.of('poll-failed')).toEqual([]);
  expect(stub.listingRequests).toBe(1);
  duties.give('poll:main');
  expect(await allArrived()).toBe(LEADS);
});

test('a poll in progress ends before the duty is given up, and no other begins', async () => {
  const { stub, reported, start } = await aScene();
  const { asked, end } = aHangingListing(stub);
  const duties = new GivenDuties('poll:main');
  await start(duties);
  await until('a poll is in progress', asked);
  duties.retire('poll:main');
  end();
  await until('the loop has ended', () => duties.waiting('poll:main') === 1);
  expect(reported.of('poll-finished')).toMatchObject([{ status: 'success' }]);
  expect(stub.listingRequests).toBe(1);
  duties.give('poll:main');
  await until('it is polled again', () => reported.of('poll-finished').length === 2);
});

test('while another process holds a source, this one does not poll it, and polls it as soon as it holds it again', async () => {
  const { stub, reported, start } = await aScene();
  const duties = new GivenDuties('poll:main');
  await start(duties);
  const polls = () => reported.of('poll-finished').length;
  await until('a poll has ended', () => polls() === 1);
  for (const count of [1, 2, 3]) {
    duties.lose('poll:main'); // while the loop waits for its next poll
    await until('the loop has ended', () => duties.waiting('poll:main') === 1);
    expect(stub.listingRequests).toBe(count);
    duties.give('poll:main');
    await until('it is polled again', () => polls() === count + 1);
  }
});

test('a sink whose dispatch is lost is sent nothing more; taken again, each lead arrives once', async () => {
  const { crm, start, allArrived } = await aScene();
  const duties = new GivenDuties('poll:main');
  const { daemon } = await start(duties);
  await until('every lead is owed', async () => (await daemon.pending()) === LEADS);
  expect([crm.received.length, duties.waiting('dispatch:crm')]).toEqual([0, 1]);
  const answering = Promise.withResolvers<void>();
  onTestFinished(() => answering.resolve());
  crm.answerAlways(async (_, res) => {
    await answering.promise;
    res.writeHead(204).end();
  });
  duties.give('dispatch:crm');
  await until('attempts are in progress', () => crm.received.length > 0);
  duties.lose('dispatch:crm');
  await until('dispatch has ended', () => duties.waiting('dispatch:crm') === 1);
  answering.resolve(); // attempts in progress are settled without the duty
  await until('they have been settled', async () => {
    const answered = crm.received.filter(({ status }) => status === 204).length;
    return answered === crm.received.length && (await daemon.pending()) === LEADS - answered;
  });
  expect(crm.received.length).toBeLessThan(LEADS);
  duties.give('dispatch:crm');
  expect(await allArrived()).toBe(LEADS);
});

test('a reload ends a source that waits for its duty, and the new one waits for it as well', async () => {
  const { stub, reported, start, write } = await aScene();
  const duties = new GivenDuties();
  const { daemon } = await start(duties);
  await until('the source waits', () => duties.waiting('poll:main') === 1);
  write('2h');
  expect(await daemon.reload('request')).toMatchObject({ applied: true });
  await until('only the new unit waits', () => duties.waiting('poll:main') === 1);
  expect(stub.listingRequests).toBe(0);
  duties.give('poll:main');
  await until('it is polled', () => reported.of('poll-finished').length === 1);
});

test('leadsync stops cleanly without a duty, and when it loses all of them at that moment', async () => {
  const { stub, reported, start } = await aScene();
  const without = await start(new GivenDuties());
  expect(await without.stop()).toBe(true);
  const { asked } = aHangingListing(stub);
  const all = ['poll:main', 'dispatch:crm', 'upkeep', 'alerts', 'exports'] as const;
  const duties = new GivenDuties(...all);
  const { stop } = await start(duties);
  await until('a poll is in progress', asked);
  const stopped = stop();
  for (const duty of all) duties.lose(duty);
  expect(await stopped).toBe(true);
  expect(all.map((duty) => duties.waiting(duty))).toEqual([0, 0, 0, 0, 0]);
  expect(reported.of('stopped').map(({ clean }) => clean)).toEqual([true, true]);
});
