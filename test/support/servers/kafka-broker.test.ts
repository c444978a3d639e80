import { execFileSync } from 'node:child_process';
import { expect, onTestFinished, test } from 'vitest';
import { findKcat, startKafkaBroker } from './kafka-broker.ts';

test('a test can start a Kafka broker, which stores what another program writes', async () => {
  const broker = await startKafkaBroker();
  onTestFinished(() => broker.close());
  const write = [
    '-P',
    '-b',
    broker.address,
    '-t',
    'leads',
    '-p',
    '2',
    '-k',
    'main:1',
    '-H',
    'type=lead.created',
  ];
  execFileSync(findKcat() ?? 'kcat', write, { input: 'one\ntwo\n' });
  const read = { topic: 'leads', partition: 2, key: 'main:1', headers: { type: 'lead.created' } };
  expect(await broker.records('leads')).toEqual([
    expect.objectContaining({ ...read, offset: 0, payload: 'one' }),
    expect.objectContaining({ ...read, offset: 1, payload: 'two' }),
  ]);
});
