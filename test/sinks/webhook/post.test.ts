import { Pool } from 'undici';
import { expect, onTestFinished, test } from 'vitest';
import { DeadlinePassed } from '../../../src/platform/time/deadline.ts';
import { post } from '../../../src/sinks/webhook/post.ts';
import { startWebhookReceiver } from '../../support/servers/webhook-receiver.ts';

const NEVER = new AbortController().signal;

/** A receiver, and a pool that has one connection to it. */
async function oneConnection() {
  const receiver = await startWebhookReceiver();
  const pool = new Pool(new URL(receiver.url).origin, { connections: 1 });
  onTestFinished(async () => {
    await pool.destroy();
    await receiver.close();
  });
  const send = (id: string, timeoutMs: number, stop = NEVER) =>
    post(
      pool,
      { method: 'POST', path: '/', headers: { 'webhook-id': id }, body: '{}' },
      { timeoutMs, stop, beforeSending: () => undefined },
    );
  return { receiver, send };
}

test('a request whose deadline passes while it waits for its connection is not sent when the connection is free', async () => {
  const { receiver, send } = await oneConnection();
  const asked = Promise.withResolvers<() => void>();
  receiver.answerNext((_, response) => asked.resolve(() => response.writeHead(200).end('thanks')));
  const first = send('first', 60_000);
  const answer = await asked.promise;
  await expect(send('late', 50)).rejects.toThrow(DeadlinePassed);
  answer();
  expect(await first).toMatchObject({ statusCode: 200, text: 'thanks' });
  await send('next', 60_000); // over the same connection, after any request that waits for it
  expect(receiver.received.map(({ headers }) => headers['webhook-id'])).toEqual(['first', 'next']);
});

test('a request that is stopped while it waits for its connection is not sent either', async () => {
  const { receiver, send } = await oneConnection();
  const asked = Promise.withResolvers<() => void>();
  receiver.answerNext((_, response) => asked.resolve(() => response.writeHead(204).end()));
  const first = send('first', 60_000);
  const answer = await asked.promise;
  const stop = new AbortController();
  const stopped = send('stopped', 60_000, stop.signal);
  stop.abort(new Error('leadsync stops'));
  await expect(stopped).rejects.toThrow('leadsync stops');
  await expect(send('after the stop', 60_000, stop.signal)).rejects.toThrow('leadsync stops');
  answer();
  expect(await first).toMatchObject({ statusCode: 204, text: undefined });
  await send('next', 60_000);
  expect(receiver.received.map(({ headers }) => headers['webhook-id'])).toEqual(['first', 'next']);
});
