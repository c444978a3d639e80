import { expect, onTestFinished, test } from 'vitest';
import { startWebhookReceiver } from '../support/servers/webhook-receiver.ts';
import { until } from '../support/time/until.ts';
import { type Answer, WatchedReceiver, type WatchedRequest } from './watched-receiver.ts';

/** Returns the record of a finished request that got this answer; the sender disconnects once it has the head. */
async function requestThatGot(answer: Answer): Promise<WatchedRequest> {
  const receiver = await startWebhookReceiver();
  onTestFinished(() => receiver.close());
  const watched = new WatchedReceiver(receiver);
  watched.answerAlways(answer);
  const leave = new AbortController();
  const headers = { 'webhook-timestamp': String(Math.floor(Date.now() / 1000)) };
  await fetch(receiver.url, { method: 'POST', body: '{}', headers, signal: leave.signal }).catch(
    () => undefined,
  );
  leave.abort();
  return await until('the request is finished', () =>
    watched.requests.find(({ endedMs }) => endedMs !== undefined),
  );
}

test('the receiver records when an answer was sent and the second in which its request was sent', async () => {
  const { sentMs, atMs, answeredMs, request } = await requestThatGot((_, res) => {
    setTimeout(() => res.writeHead(204).end(), 60);
  });
  expect(request.status).toBe(204);
  expect(answeredMs).toBeGreaterThanOrEqual(atMs + 50);
  expect(atMs - sentMs).toBeGreaterThanOrEqual(0);
  expect(atMs - sentMs).toBeLessThan(2_000);
});

test('a head that was sent before an endless body counts as an answer', async () => {
  const { answeredMs, endedMs } = await requestThatGot((_, res) => void res.writeHead(200).write('.'));
  expect(answeredMs).toBeLessThanOrEqual(endedMs ?? 0);
});

test('a broken connection has no answer', async () => {
  const { answeredMs } = await requestThatGot((_, res) => void res.socket?.destroy());
  expect(answeredMs).toBeUndefined();
});
