import { connect, type Socket } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';

// A thread that sends a server a fixed number of requests a second, whether it answers or not, as a broken machine or an attacker
// does. The messages 'on' and 'off' start and stop it; it answers 'off' with the results.

/** The paths that it requests in turn. */
const PATHS = ['/metrics', '/livez'];
const CONNECTIONS = 200;
const TICK_MS = 10;
/** One of this many connections sends requests without waiting for an answer. */
const RUDE = 20;

/** What the thread is given. */
export interface FloodOptions {
  readonly port: number;
  readonly perSecond: number;
}

/** What came of a flood. */
export interface Flooded {
  /** Requests that were due, those that were put on the wire, and those that were answered. */
  readonly due: number;
  readonly sent: number;
  readonly answered: number;
}

const { port, perSecond } = workerData as FloodOptions;
let sockets: Socket[] = [];
const waiting = new WeakSet<Socket>();
let ticking: NodeJS.Timeout | undefined;
let flooded = { due: 0, sent: 0, answered: 0 };

parentPort?.on('message', (told: 'on' | 'off') => {
  if (told === 'on') begin();
  else end();
});

function begin(): void {
  flooded = { due: 0, sent: 0, answered: 0 };
  sockets = Array.from({ length: CONNECTIONS }, (_, at) => open(at));
  const startMs = performance.now();
  ticking = setInterval(() => {
    const due = Math.floor(((performance.now() - startMs) / 1000) * perSecond);
    for (; flooded.due < due; flooded.due += 1) ask(flooded.due);
  }, TICK_MS);
}

/** Most wait for the answer before they ask again, as HTTP clients do; some do not. */
function ask(n: number): void {
  const at = n % CONNECTIONS;
  const socket = sockets[at];
  if (!socket || (waiting.has(socket) && at % RUDE !== 0)) return;
  waiting.add(socket);
  flooded.sent += 1;
  socket.write(`GET ${PATHS[n % PATHS.length]} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`);
}

/** Opens a connection, again and again when it is closed. */
function open(at: number): Socket {
  const socket = connect(port, '127.0.0.1');
  socket.on('data', (data) => {
    waiting.delete(socket);
    flooded.answered += data.toString('latin1').split('HTTP/1.1 200').length - 1;
  });
  socket.on('error', () => undefined);
  socket.on('close', () => {
    if (ticking) sockets[at] = open(at);
  });
  return socket;
}

function end(): void {
  clearInterval(ticking);
  ticking = undefined;
  for (const socket of sockets) socket.destroy();
  parentPort?.postMessage(flooded);
}
