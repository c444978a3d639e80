import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { Heartbeats } from '../../src/alerts/heartbeat.ts';
import { Secret } from '../../src/platform/options/secret.ts';
import type { Event } from '../../src/telemetry/events.ts';
import { HeldClock } from '../support/time/held-clock.ts';

const MINUTE = 60_000;
const NEVER = new AbortController().signal;

/** A service for heartbeats that answers with `status`, and what it is asked. */
async function aService() {
  const service = { status: 200, asked: [] as string[], url: '' };
  const server = createServer((request, response) => {
    service.asked.push(`${request.method} ${request.url}`);
    response.writeHead(service.status).end('OK');
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  service.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return service;
}

function beating() {
  const clock = new HeldClock();
  const events: Event[] = [];
  return { clock, events, heartbeats: new Heartbeats(clock, (event) => void events.push(event)) };
}

test('a heartbeat is due immediately, then after the interval, and immediately for another address', async () => {
  const service = await aService();
  const { clock, events, heartbeats } = beating();
  const options = { url: new Secret(`${service.url}/ping/canary`), every: MINUTE };
  expect(heartbeats.isDue(options)).toBe(true);
  await heartbeats.send(options, NEVER);
  expect(service.asked).toEqual(['GET /ping/canary']);
  clock.jump(MINUTE - 1_000);
  expect(heartbeats.isDue(options)).toBe(false);
  expect(heartbeats.isDue({ ...options, url: new Secret(`${service.url}/other`) })).toBe(true);
  clock.jump(1_000);
  expect(heartbeats.isDue(options)).toBe(true);
  expect(events).toEqual([]);
});

test('a failure is reported once, without the secret in the address, and so is its end', async () => {
  const service = await aService();
  const { events, heartbeats } = beating();
  const options = { url: new Secret(`${service.url}/ping/canary`), every: MINUTE };
  service.status = 404;
  await heartbeats.send(options, NEVER);
  await heartbeats.send(options, NEVER);
  service.status = 200;
  await heartbeats.send(options, NEVER);
  expect(events).toEqual([
    {
      type: 'heartbeat-failed',
      reason: `${service.url} answered 404.`,
      hint: 'Check its address and secret in `alerts.heartbeat`.',
    },
    { type: 'heartbeat-recovered' },
  ]);
  expect(JSON.stringify(events)).not.toContain('canary');
});

test('a service that does not answer is a failure, too', async () => {
  const { events, heartbeats } = beating();
  await heartbeats.send({ url: new Secret('http://127.0.0.1:9/canary'), every: MINUTE }, NEVER);
  expect(events).toMatchObject([
    { type: 'heartbeat-failed', reason: expect.stringContaining('127.0.0.1:9') },
  ]);
});
