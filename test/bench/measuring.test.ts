import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { useOf } from '../../bench/process-use.ts';
import { ReferenceProcess, runReference } from '../../bench/reference-process.ts';

async function aService(body: string) {
  const server = createServer((_, res) => res.end(body));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const baseUrl = { 'base-url': `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
  return { baseUrl, [Symbol.asyncDispose]: async () => void server.close() };
}

test('a reference does its job on each request, and returns how long it took', async () => {
  await using service = await aService('[{"id":1},{"id":2}]');
  const reference = new ReferenceProcess('transfer-and-parse', service.baseUrl);
  expect(await reference.run()).toMatchObject({ leads: 2 });
  expect((await reference.run()).ms).toBeGreaterThan(0);
  await reference.close();
});

test('a reference that fails makes the benchmark fail, with the reason', async () => {
  await using service = await aService('[{"id":');
  const reference = new ReferenceProcess('transfer-and-parse', service.baseUrl);
  await expect(reference.run()).rejects.toThrow('SyntaxError');
});

// The benchmark itself runs on Linux only, and says so elsewhere.
if (process.platform === 'linux') {
  test('what a process used is known when it has ended: all of its CPU time, and its memory at the most', async () => {
    const work = `
      let held = Buffer.alloc(150e6, 1);
      while (process.cpuUsage().user + process.cpuUsage().system < 600e3) held = held.length ? held : undefined;`;
    const use = await useOf(() => {
      const child = spawn(process.execPath, ['-e', work], { stdio: 'ignore' });
      return { process: child, exited: once(child, 'exit') };
    });
    expect(use.cpuMs).toBeGreaterThanOrEqual(590);
    expect(use.wallMs).toBeGreaterThan(0);
    expect(use.peakMb).toBeGreaterThan(140);
    expect(use.peakMb).toBeLessThan(400);
  });

  test('a reference is run from its start to its end', async () => {
    await using service = await aService('[]');
    const { result, peakMb } = await runReference('transfer', service.baseUrl);
    expect(result).toMatchObject({ bytes: 2 });
    expect(peakMb).toBeGreaterThan(10);
  });
}
