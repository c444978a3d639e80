import { expect, test } from 'vitest';
import type { Event } from '../../src/telemetry/events.ts';
import { createTelemetry } from '../../src/telemetry/telemetry.ts';
import { anEvent } from './an-event.ts';

function telemetry(write: (text: string) => void, subscribers: readonly ((event: Event) => void)[] = []) {
  return createTelemetry({
    version: '1.2.3',
    sources: ['main'],
    sinks: ['crm'],
    now: () => new Date(),
    backlog: async () => [],
    disk: async () => ({ freeBytes: 2_000, ledgerBytes: 100 }),
    tokenExpiresAt: () => undefined,
    pollDueAt: async () => undefined,
    exports: ['nightly'],
    backups: ['daily'],
    destinations: [],
    exportRuns: async () => ({ madeAt: undefined, dueAt: undefined, bytes: undefined, failures: 0 }),
    log: { level: 'info', format: 'json', stream: { write } },
    subscribers,
  });
}

test('an event reaches the log, the metrics and every subscriber', async () => {
  let text = '';
  const seen: Event[] = [];
  const { emit, registry } = telemetry((line) => (text += line), [(event) => seen.push(event)]);
  emit(anEvent('delivery-dead'));
  expect(seen).toEqual([anEvent('delivery-dead')]);
  expect(text).toContain('"event":"delivery-dead"');
  expect(await registry.metrics()).toContain('leadsync_deliveries_total{sink="crm",outcome="dead"} 1');
});

test('a subscriber that throws is logged, and the other subscribers get the event', () => {
  let text = '';
  const seen: Event[] = [];
  const broken = () => {
    throw new RangeError('no');
  };
  const { emit } = telemetry((line) => (text += line), [broken, (event) => seen.push(event)]);
  emit(anEvent('sink-resumed'));
  expect(seen).toHaveLength(1);
  expect(text).toContain('"error":"RangeError"');
});

test('a log that cannot be written does not throw at the caller of emit', async () => {
  const { emit, registry } = telemetry(() => {
    throw new Error('EPIPE');
  });
  expect(() => emit(anEvent('delivery-dead'))).not.toThrow();
  expect(await registry.metrics()).toContain('leadsync_deliveries_total{sink="crm",outcome="dead"} 1');
});
