import { type AddressInfo, connect, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { until } from '../time/until.ts';
import { listening, Wire } from './wire.ts';

/** A server that echoes, and a wire to it. */
async function anEcho(greeting = ''): Promise<{ wire: Wire; port: number }> {
  const server = await listening();
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.write(greeting);
    socket.pipe(socket);
  });
  const { port } = server.address() as AddressInfo;
  const wire = await Wire.to(port);
  onTestFinished(() => {
    wire.close();
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return { wire, port };
}

/** A connection through the wire, and what has arrived on it. */
async function connected({ port }: Wire) {
  const socket = connect(port, '127.0.0.1');
  const line = { socket, arrived: '', ended: '' };
  socket.on('data', (data) => {
    line.arrived += data;
  });
  socket.on('error', (error: NodeJS.ErrnoException) => {
    line.ended = error.code ?? error.message;
  });
  socket.on('close', () => {
    line.ended ||= 'closed';
  });
  onTestFinished(() => void socket.destroy());
  await until('the connection is open, or reset', () => socket.readyState === 'open' || line.ended !== '');
  return line;
}

test('a wire passes data on in both directions, and the end of a connection', async () => {
  const { wire } = await anEcho();
  const line = await connected(wire);
  line.socket.write('one');
  await until('it has come back', () => line.arrived === 'one');
  line.socket.end();
  await until('the connection has ended', () => line.ended === 'closed');
});

test('a wire that stands still loses nothing', async () => {
  const { wire } = await anEcho();
  const line = await connected(wire);
  wire.stall();
  line.socket.write('one');
  const other = await connected(wire);
  other.socket.write('two');
  line.socket.write(' more');
  // Data that nothing holds up would arrive before an answer of the other server.
  const elsewhere = await connected((await anEcho('hello')).wire);
  await until('another wire passes data on', () => elsewhere.arrived === 'hello');
  expect([line.arrived, other.arrived]).toEqual(['', '']);
  wire.heal();
  await until('all of it has come back', () => line.arrived === 'one more' && other.arrived === 'two');
});

test('a wire that is cut resets its connections, and lets new ones lead to another server', async () => {
  const { wire } = await anEcho('first');
  const { port } = await anEcho('second');
  const line = await connected(wire);
  await until('the server answers', () => line.arrived === 'first');
  wire.leadTo(port);
  wire.cut();
  await until('the connection is reset', () => line.ended === 'ECONNRESET');
  const again = await connected(wire);
  await until('the other server answers', () => again.arrived === 'second');
});

test('a wire that is unplugged resets new connections until it is healed', async () => {
  const { wire } = await anEcho('hello');
  wire.unplug();
  const line = await connected(wire);
  await until('the connection is reset', () => line.ended === 'ECONNRESET');
  wire.heal();
  const again = await connected(wire);
  await until('the server answers', () => again.arrived === 'hello');
});

test('a wire with a delay keeps the order when the delay becomes shorter', async () => {
  const { wire } = await anEcho();
  const line = await connected(wire);
  wire.delay(200);
  line.socket.write('a');
  await until('the wire has it', () => line.socket.bytesWritten === 1 && line.socket.writableLength === 0);
  wire.heal();
  line.socket.write('b');
  await until('both have come back', () => line.arrived.length === 2);
  expect(line.arrived).toBe('ab');
});
