import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { sourceOptions } from '../../../src/source/contract/options.ts';
import type { Daemon } from '../../support/program/leadsync.ts';
import { aLead } from '../../support/scene/a-lead.ts';
import { aScene } from '../../support/scene/a-scene.ts';
import { accountOf, faultsOf } from '../../support/scene/oracle.ts';
import { until } from '../../support/time/until.ts';
import { expectCalm } from '../calm.ts';
import { logged, statusOf, told } from '../telling.ts';

// The parts of faults 35 and 36 that are a matter of size. A million leads take minutes (`npm run proof:million`); these tests take the
// same path with as many leads as fit into a suite.

const MANY = 40_000;
const DEFAULT_MAX_LEAD_BYTES = sourceOptions.shape.max_lead_size.parse(undefined);

test('35. leadsync abandons a gzip bomb in bounded memory and answers its probes meanwhile', async () => {
  const scene = await aScene('in-process', {
    stub: { leads: 5 },
    source: { deadline: '5s' },
    // The same process reads this source at the same time.
    services: { other: { leads: 5, firstId: 1_000 } },
  });
  scene.stub.misbehave({ listing: 'gzip-bomb' });
  const daemon = await scene.start();
  await told(daemon, 'poll-failed', { source: 'main' });
  // A missed deadline would show: the bomb takes far longer.
  expect(logged(daemon, 'poll-failed', { source: 'main' })[0]).toMatchObject({ code: 'incomplete' });
  await expectAnswers(daemon);
  expect(peakMb(daemon)).toBeLessThan(700);
  scene.stub.behave();
  await until('every lead is everywhere', () => scene.complete(), 90_000);
  await expectCalm(daemon);
  expect(faultsOf(await accountOf(scene), { repeats: false })).toEqual([]);
});

test('36. a lead of 50 MB reaches every sink, to the last byte', async () => {
  const scene = await aScene('in-process', {
    stub: { leads: 5 },
    source: { max_lead_size: '60mb' },
    // This process parses the received leads again and again, so the receiver answers slowly meanwhile.
    sinks: { crm: { timeout: '2m' } },
  });
  scene.stub.misbehave({ listing: 'huge-lead' });
  const daemon = await scene.start();
  const huge = '7003000';
  await until(
    'it is everywhere',
    async () => Object.values(await scene.held()).every((held) => held.some(({ lead }) => lead === huge)),
    120_000,
  );
  await expectAnswers(daemon);
  scene.stub.behave();
  await until('every lead is everywhere', () => scene.complete(), 60_000);
  await expectCalm(daemon);
  const raw = scene.stub.served.raw();
  expect(faultsOf(await accountOf(scene, { raw }), { repeats: false })).toEqual([]);
});

test('36. the largest lead permitted by default fits into the memory limits of the Kubernetes manifests', async () => {
  const scene = await aScene('in-process', { stub: { leads: 5 } });
  const daemon = await scene.start();
  await until('the first leads are everywhere', () => scene.complete(), 60_000);
  // The ledger keeps NUL escapes twice: as received, and in a form that every database can read.
  const client_name = '\0'.repeat((DEFAULT_MAX_LEAD_BYTES - 2_000) / '\\u0000'.length);
  scene.stub.addRaw(aLead({ id: 7_003_000, client_name }));
  await until(
    'it is everywhere',
    async () =>
      Object.values(await scene.held()).every((held) => held.some(({ lead }) => lead === '7003000')),
    120_000,
  );
  for (const mb of limitsOfManifests()) expect(peakMb(daemon)).toBeLessThan(mb);
  await expectCalm(daemon);
  expect(faultsOf(await accountOf(scene, { raw: scene.stub.served.raw() }), { repeats: false })).toEqual([]);
});

test('36. a lead above max_lead_size does not affect the others', async () => {
  const scene = await aScene('in-process', { stub: { leads: 5 }, source: { max_lead_size: '8mb' } });
  scene.stub.misbehave({ listing: 'huge-lead' });
  const daemon = await scene.start();
  await told(daemon, 'leads-rejected');
  await until('the others are everywhere', () => scene.complete(), 60_000);
  expect((await statusOf(scene)).sources['main']).toMatchObject({ leads: 5, leads_rejected: 1 });
  await expectCalm(daemon);
  expect(peakMb(daemon)).toBeLessThan(400);
  expect(faultsOf(await accountOf(scene), { repeats: false })).toEqual([]);
});

test(`36. leadsync records ${MANY.toLocaleString('en')} leads in one listing in bounded memory and answers its probes meanwhile`, async () => {
  const scene = await aScene('in-process', {
    stub: { leads: MANY },
    sinks: { drop: { batch: { max: 10_000, wait: '1s' } }, crm: { enabled: false } },
  });
  const daemon = await scene.start();
  const recorded = async () => (await statusOf(scene)).sources['main']?.leads === MANY;
  await until('they are recorded', recorded, 120_000);
  await expectAnswers(daemon);
  await until('they are delivered', async () => {
    const { drop, warehouse } = (await statusOf(scene)).sinks;
    return drop?.delivered === MANY && warehouse?.delivered === MANY;
  });
  await expectCalm(daemon);
  expect(peakMb(daemon)).toBeLessThan(500);
  const account = await accountOf(scene);
  expect(faultsOf(account, { repeats: false, at: ['drop', 'warehouse'] })).toEqual([]);
});

/** Expects the daemon's probes to answer while it works. */
async function expectAnswers({ adminUrl }: Daemon): Promise<void> {
  for (let times = 0; times < 5; times += 1) {
    expect((await fetch(`${adminUrl}/livez`, { signal: AbortSignal.timeout(10_000) })).status).toBe(200);
    await sleep(20);
  }
}

/** Returns the memory limit of each leadsync container, in MB. */
function limitsOfManifests(): number[] {
  const files = ['one-process/poller.yaml', 'with-workers/workers.yaml'];
  return files.map((file) => {
    const text = readFileSync(new URL(`../../../deploy/kubernetes/${file}`, import.meta.url), 'utf8');
    return Number(/limits: \{ memory: (\d+)Mi \}/.exec(text)?.[1]);
  });
}

/** Returns the peak memory of the process, in MB; 0 without /proc. */
function peakMb({ process: { pid } }: Daemon): number {
  const path = `/proc/${pid}/status`;
  if (!existsSync(path)) return 0;
  return Number(/VmHWM:\s*(\d+) kB/.exec(readFileSync(path, 'utf8'))?.[1]) / 1024;
}
