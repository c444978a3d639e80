import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import { openClient } from '../../src/bucket/bucket-client.ts';
import { objectsIn, uploadsIn } from '../../src/bucket/bucket-listing.ts';
import { storageFailure } from '../../src/exports/destinations/storage-failure.ts';
import { Secret } from '../../src/platform/options/secret.ts';

test.each([
  ['objects', objectsIn],
  ['unfinished uploads', uploadsIn],
])('leadsync stops reading a listing of %s that arrives byte by byte after five minutes', async (_, list) => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
  const begun = Promise.withResolvers<void>();
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/xml' }).write('<');
    const dripping = setInterval(() => response.write(' '), 5_000);
    response.on('close', () => clearInterval(dripping));
    begun.resolve();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    vi.useRealTimers();
    server.closeAllConnections();
    server.close();
  });
  const target = {
    bucket: 'exports',
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    path_style: true,
    checksums: true,
    access_key_id: new Secret('id'),
    secret_access_key: new Secret('key'),
  };
  const client = openClient(target);
  onTestFinished(() => client.destroy());
  const listing = list(client, { Bucket: 'exports', Prefix: 'nightly-' }, new AbortController().signal);
  const failure = listing.then(
    () => undefined,
    (error: unknown) => storageFailure(target, error),
  );
  await begun.promise;
  await vi.advanceTimersByTimeAsync(300_000);
  expect((await failure)?.message).toMatch(
    /^The bucket exports at 127\.0\.0\.1:\d+ takes too long to answer/,
  );
});
