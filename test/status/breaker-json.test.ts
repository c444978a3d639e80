import { expect, test } from 'vitest';
import { HEALTHY, type SinkHealth } from '../../src/leads/sink-health.ts';
import { breakerJson } from '../../src/status/breaker-json.ts';
import type { SinkView } from '../../src/status/status-view.ts';

const at = new Date('2026-11-20T10:00:00.000Z');
const held = { heldSince: at, probeAt: at };

function aView(health: Partial<SinkHealth>, state: SinkView['state'] = 'held'): SinkView {
  const status = { sink: 'crm', active: true, health: { ...HEALTHY, ...health } };
  const config = {
    name: 'crm',
    concurrency: 50,
    breaker: { failureRate: 0.8, consecutiveFailures: 3, maxProbeWaitMs: 60_000 },
  };
  return { name: 'crm', state, config, status } as unknown as SinkView;
}

const GROWTH =
  'After the first successful probe, it gets 2 batches at a time, then twice as many with each round of answers, up to 50.';

test.each<[string, Partial<SinkHealth>, string]>([
  [
    'most of the last attempts failed',
    { ...held, recent: `${'+'.repeat(80)}${'-'.repeat(16)}++++`, probes: 7 },
    `It is held because 16 of its last 20 batches failed. 7 probes have failed since. ${GROWTH}`,
  ],
  [
    'a few in a row failed',
    { ...held, recent: '++---', probes: 1 },
    `It is held because its last 3 batches failed. 1 probe has failed since. ${GROWTH}`,
  ],
  [
    'it refused lead after lead',
    { ...held, recent: '+', refusals: 6 },
    `It is held because it refused 6 leads in a row. No probe has failed yet. ${GROWTH}`,
  ],
  [
    'its destination asked for a pause',
    { ...held, recent: '++-', places: 8 },
    'It is held because its destination asked for a pause. No probe has failed yet. After the first successful probe, it gets 8 batches at a time, then twice as many with each round of answers, up to 50.',
  ],
])('a held sink says that %s', (_, health, explanation) => {
  expect(breakerJson(aView(health))).toMatchObject({
    explanation,
    concurrency: 1,
    max_concurrency: 50,
    failed_probes: health.probes ?? 0,
  });
});

test('a sink that recovers says how many batches it gets now, and to what that grows', () => {
  expect(breakerJson(aView({ recent: '+++', places: 5 }, 'healthy'))).toMatchObject({
    explanation:
      'It is recovering from a hold: it gets 5 batches at a time now, and one more with each answer, up to 50.',
    concurrency: 5,
    failed_probes: null,
  });
});

test('a failing sink says its failure rate, and at which one it is held', () => {
  const recent = `${'+++-'.repeat(25)}`;
  expect(breakerJson(aView({ recent, places: 900 }, 'retrying'))).toMatchObject({
    explanation: '25 of its last 100 batches failed. It is held when 16 of the last 20 fail.',
    failure_rate: 0.25,
    held_at_failures: 16,
    held_at_consecutive_failures: 3,
    held_at_consecutive_refusals: 5,
    concurrency: 50,
  });
});

test('a sink without failures, one that is paused and one that never ran have nothing to explain', () => {
  expect(breakerJson(aView({ recent: '+++' }, 'healthy'))?.explanation).toBeNull();
  expect(breakerJson(aView({ ...held, recent: '-----', pausedSince: at }, 'paused'))?.explanation).toBeNull();
  expect(breakerJson(aView({}, 'healthy'))?.failure_rate).toBeNull();
  expect(breakerJson({ ...aView({}), status: undefined })).toBeNull();
});
