import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { freePort } from './server-process.ts';

test('a free port is outside the range from which the system assigns ports', async () => {
  const range = readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8');
  const [first, last] = range.trim().split(/\s+/).map(Number);
  const port = await freePort();
  expect(port < (first ?? 0) || port > (last ?? 65_535)).toBe(true);
});

test('the search for a free port skips one that is taken meanwhile', async () => {
  const taken = (await freePort()) + 1;
  const server = createServer().listen(taken, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  expect(await freePort()).toBe(taken + 1);
});
