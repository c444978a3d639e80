import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { type Dispatcher, Pool } from 'undici';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { post, READ_MS } from '../../../src/platform/http/post.ts';
import { DeadlinePassed } from '../../../src/platform/time/deadline.ts';
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

test('a long answer that arrives completely leaves the connection open, and one that does not end closes it', async () => {
  const { receiver, send } = await oneConnection();
  const ports: (number | undefined)[] = [];
  receiver.answerAlways((_, response) => {
    ports.push(response.socket?.remotePort);
    response.writeHead(200).end('x'.repeat(5_000));
  });
  for (const id of ['1', '2', '3']) expect((await send(id, 60_000)).text).toHaveLength(1_024);
  expect(new Set(ports).size).toBe(1);
  const closed = Promise.withResolvers<void>();
  receiver.answerNext((_, response) => {
    response.once('close', closed.resolve);
    response.writeHead(200).write('x'.repeat(5_000));
  });
  expect((await send('4', 60_000)).text).toHaveLength(1_024);
  await closed.promise;
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

describe('a response whose body is slow', () => {
  /** Begins a request whose response has its status and the beginning of its body. Time stands still until the test moves it. */
  function begun({ needsBody, stop = NEVER }: { needsBody: boolean; stop?: AbortSignal }) {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const began = Promise.withResolvers<Dispatcher.DispatchHandler>();
    const dispatcher = { dispatch: (_, handler) => began.resolve(handler) } as Pick<Dispatcher, 'dispatch'>;
    const controller = { abort: vi.fn() } as unknown as Dispatcher.DispatchController;
    const request = { method: 'POST', path: '/' } as const;
    const limits = { timeoutMs: 60_000, needsBody, stop, beforeSending: () => undefined };
    const response = post(dispatcher as Dispatcher, request, limits);
    const arrive = (text: string) => handler?.onResponseData?.(controller, Buffer.from(text));
    let handler: Dispatcher.DispatchHandler | undefined;
    const ready = began.promise.then((given) => {
      handler = given;
      handler.onRequestStart?.(controller, undefined);
      handler.onResponseStart?.(controller, 200, {}, 'OK');
      arrive('{"begun":');
    });
    return {
      ready,
      response,
      arrive,
      end: () => handler?.onResponseEnd?.(controller, {}),
      breakOff: () => handler?.onResponseError?.(controller, new Error('ECONNRESET')),
    };
  }

  test('is left after a second if the status matters alone', async () => {
    const { ready, response } = begun({ needsBody: false });
    await ready;
    vi.advanceTimersByTime(READ_MS);
    expect(await response).toMatchObject({ statusCode: 200, text: '{"begun":', isWhole: false });
  });

  test('is awaited until the deadline if the body matters', async () => {
    const { ready, response, arrive, end } = begun({ needsBody: true });
    await ready;
    vi.advanceTimersByTime(59_000);
    arrive('true}');
    end();
    expect(await response).toMatchObject({ statusCode: 200, text: '{"begun":true}', isWhole: true });
  });

  test.each(['the deadline', 'a stop', 'the end of the connection'])(
    'is left at %s, and says that it is not whole',
    async (what) => {
      const stop = new AbortController();
      const { ready, response, breakOff } = begun({ needsBody: true, stop: stop.signal });
      await ready;
      if (what === 'the deadline') vi.advanceTimersByTime(60_000);
      if (what === 'a stop') stop.abort(new Error('leadsync stops'));
      if (what === 'the end of the connection') breakOff();
      expect(await response).toMatchObject({ statusCode: 200, text: '{"begun":', isWhole: false });
    },
  );
});

test('an answer that came while the process was too busy to read it is read, though the deadline has passed since', async () => {
  const state = new Int32Array(new SharedArrayBuffer(8));
  const server = new Worker(
    `const { createServer } = require('node:http');
     const { parentPort, workerData: state } = require('node:worker_threads');
     const server = createServer((request, response) => {
       parentPort.postMessage('asked');
       Atomics.wait(state, 0, 0); // until the process is busy
       response.writeHead(204).end(() => { Atomics.store(state, 1, 1); Atomics.notify(state, 1); });
     });
     server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));`,
    { eval: true, workerData: state },
  );
  onTestFinished(async () => void (await server.terminate()));
  const [port] = await once(server, 'message');
  const pool = new Pool(`http://127.0.0.1:${port}`);
  onTestFinished(() => pool.destroy());
  const timeoutMs = 2_000;
  const asked = once(server, 'message');
  const begunMs = performance.now();
  const response = post(
    pool,
    { method: 'POST', path: '/', body: '{}' },
    { timeoutMs, stop: NEVER, beforeSending: () => undefined },
  );
  await asked;
  Atomics.store(state, 0, 1);
  Atomics.notify(state, 0);
  Atomics.wait(state, 1, 0); // the answer has been sent
  while (performance.now() - begunMs <= timeoutMs) Atomics.wait(state, 1, 1, 50);
  expect(await response).toMatchObject({ statusCode: 204 });
});
