import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { PostgresSink } from '../../../../src/sinks/postgres/postgres.ts';
import { postgres } from '../../../../src/sinks/postgres/postgres-type.ts';
import { someParts } from '../../some-parts.ts';

/** Returns a message of the server (PostgreSQL manual, "Message Formats"). */
function message(type: string, body: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeInt32BE(4 + body.length);
  return Buffer.concat([Buffer.from(type), length, body]);
}

const ACCEPTED = message('R', Buffer.alloc(4));
const READY = message('Z', Buffer.from('I'));
const ENDED = message(
  'E',
  Buffer.from('SFATAL\0VFATAL\0C57P01\0Mterminating connection due to administrator command\0\0'),
);

test('a connection that the server ends in the packet in which it accepts it makes the sink unavailable', async () => {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.end(Buffer.concat([ACCEPTED, READY, ENDED])));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const options = postgres.options.parse({
    url: `postgresql://user@127.0.0.1:${port}/leads`,
    schema: 'leads',
  });
  const sink = new PostgresSink(options, someParts());
  onTestFinished(() => sink.close());
  await expect(sink.check(AbortSignal.timeout(10_000))).rejects.toThrow(
    new RegExp(`^PostgreSQL at 127.0.0.1:${port} `),
  );
});
