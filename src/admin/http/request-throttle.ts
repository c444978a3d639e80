import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

/** The server reads at most 25 requests in each window of 50 ms: 500 a second, which use about a tenth of a core. */
const WINDOW_MS = 50;
const MAX_PER_WINDOW = 25;

/**
 * Throttles the requests that a server reads, so that a flood leaves time for polls and deliveries. Does not reject a request above the limit.
 * Instead, pauses its connection until a window has room; connections resume in order of arrival. Closes a connection that pipelines requests
 * (RFC 9112, section 9.3.2), because a single read can hold a thousand of them, and a pause does not stop requests that were already read.
 */
export function throttleRequests(
  server: FastifyInstance['server'],
  windowMs = WINDOW_MS,
  max = MAX_PER_WINDOW,
): void {
  const throttle = new RequestThrottle(windowMs, max);
  server.on('connection', (socket: Socket) => {
    throttle.take(socket);
    socket.on('close', () => throttle.forget(socket));
  });
  const answering = new WeakSet<Socket>();
  server.prependListener('request', ({ socket }, response) => {
    if (answering.has(socket)) return void socket.destroy();
    answering.add(socket);
    response.on('close', () => answering.delete(socket));
    // Only after Node's own handlers: they resume the connection when its response is finished.
    response.on('finish', () => setImmediate(() => throttle.take(socket)));
  });
}

class RequestThrottle {
  readonly #windowMs: number;
  readonly #max: number;
  readonly #waiting = new Set<Socket>();
  #room: number;
  #isOpen = false;

  constructor(windowMs: number, max: number) {
    this.#windowMs = windowMs;
    this.#max = max;
    this.#room = max;
  }

  /** Counts a request of this connection, and pauses the connection when the window is full. */
  take(socket: Socket): void {
    if (!this.#isOpen) this.#openWindow();
    this.#room -= 1;
    if (this.#room >= 0 || socket.destroyed) return;
    socket.pause();
    this.#waiting.add(socket);
  }

  forget(socket: Socket): void {
    this.#waiting.delete(socket);
  }

  /**
   * Opens a window. If connections are waiting when the window ends, the next window opens immediately; otherwise the next request opens
   * it.
   */
  #openWindow(): void {
    this.#isOpen = true;
    const next = [...this.#waiting].slice(0, this.#max);
    this.#room = this.#max - next.length;
    for (const socket of next) {
      this.#waiting.delete(socket);
      socket.resume();
    }
    setTimeout(() => {
      this.#isOpen = false;
      if (this.#waiting.size > 0) this.#openWindow();
    }, this.#windowMs).unref();
  }
}
