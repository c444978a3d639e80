import { createServer } from 'node:http';
import { connect } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { throttleRequests } from '../../src/admin/http/request-throttle.ts';
import { until } from '../support/time/until.ts';

/** A server that answers a few requests in a window of 100 ms, and how many it has. */
async function aThrottledServer() {
  const seen = { requests: 0, handled: 0 };
  const server = createServer(({ socket }, response) => {
    seen.requests += 1;
    if (!socket.destroyed) seen.handled += 1;
    response.end('ok');
  });
  throttleRequests(server, 100, 5);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.closeAllConnections());
  onTestFinished(() => void server.close());
  const address = server.address();
  return { seen, port: typeof address === 'object' ? (address?.port ?? 0) : 0 };
}

/** Sends requests on one connection, each as soon as the last is answered. Returns the number of answers so far, and a function that ends it. */
function askOver(port: number): { answered: number; end: () => void } {
  const socket = connect(port, '127.0.0.1');
  const asking = { answered: 0, end: () => void socket.destroy() };
  const ask = () => socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
  socket.on('connect', ask);
  socket.on('data', () => {
    asking.answered += 1;
    ask();
  });
  socket.on('error', () => undefined);
  onTestFinished(asking.end);
  return asking;
}

test('the server answers a flood at the rate of the throttle, each connection in turn, and rejects no request', async () => {
  const { seen, port } = await aThrottledServer();
  const startMs = performance.now();
  const flood = Array.from({ length: 20 }, () => askOver(port));
  await until('each was answered some times', () => flood.every(({ answered }) => answered >= 3), 20_000);
  const windows = (performance.now() - startMs) / 100 + 1;
  // In each window, and the first request of each connection.
  expect(seen.requests).toBeLessThanOrEqual(windows * 5 + 20);
  for (const { end } of flood) end();
  const later = askOver(port);
  await until('a client that comes after the flood is answered', () => later.answered > 0);
});

test('the server ends a connection that sends more requests before it was answered, however many come in one read', async () => {
  const { seen, port } = await aThrottledServer();
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined).resume();
  socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(500));
  await new Promise((resolve) => socket.on('close', resolve));
  expect(seen.handled).toBeLessThanOrEqual(1);
});

test('a client below the limit is answered without delay', async () => {
  const { port } = await aThrottledServer();
  const one = await fetch(`http://127.0.0.1:${port}/`);
  expect(await one.text()).toBe('ok');
});
