import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

/** In each window of so many ms, so many requests are read at the most: 500 a second, a tenth of a core or so. */
const WINDOW_MS = 50;
const MOST_IN_WINDOW = 25;

/**
 * Keeps a flood of requests from taking the process over, which has polls and deliveries to do. What comes beyond the pace
 * is not refused: its connection is not read from until there is room, the first that waits first. A connection that asks
 * again before it was answered is ended (RFC 9112, section 9.3.2): a thousand requests can come in one read, past any pace.
 */
export function keepPace(
  server: FastifyInstance['server'],
  windowMs = WINDOW_MS,
  most = MOST_IN_WINDOW,
): void {
  const pace = new Pace(windowMs, most);
  server.on('connection', (socket: Socket) => {
    pace.take(socket);
    socket.on('close', () => pace.forget(socket));
  });
  const answering = new WeakSet<Socket>();
  server.prependListener('request', ({ socket }, response) => {
    if (answering.has(socket)) return void socket.destroy();
    answering.add(socket);
    response.on('close', () => answering.delete(socket));
    // Once it has been answered, and Node has done with it: it resumes a connection that it has read a request from.
    response.on('finish', () => setImmediate(() => pace.take(socket)));
  });
}

class Pace {
  readonly #windowMs: number;
  readonly #most: number;
  readonly #waiting = new Set<Socket>();
  #room: number;
  #isOpen = false;

  constructor(windowMs: number, most: number) {
    this.#windowMs = windowMs;
    this.#most = most;
    this.#room = most;
  }

  /** Lets a connection go on, or lets it wait. */
  take(socket: Socket): void {
    if (!this.#isOpen) this.#begin();
    this.#room -= 1;
    if (this.#room >= 0 || socket.destroyed) return;
    socket.pause();
    this.#waiting.add(socket);
  }

  forget(socket: Socket): void {
    this.#waiting.delete(socket);
  }

  /** A window; the next one begins with the first that comes after it, or at once while somebody waits. */
  #begin(): void {
    this.#isOpen = true;
    const next = [...this.#waiting].slice(0, this.#most);
    this.#room = this.#most - next.length;
    for (const socket of next) {
      this.#waiting.delete(socket);
      socket.resume();
    }
    setTimeout(() => {
      this.#isOpen = false;
      if (this.#waiting.size > 0) this.#begin();
    }, this.#windowMs).unref();
  }
}
