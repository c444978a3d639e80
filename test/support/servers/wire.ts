import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * The line of one machine to a server on loopback. It can fail as a network does: cut or refuse connections, pass nothing on, and delay what it
 * passes on. Each machine of a test has its own, so that one can be cut off while the others are not.
 */
export class Wire {
  readonly port: number;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #target: number;
  #refuses = false;
  #delayMs = 0;
  /** Is open while the line stands still. */
  #standstill: PromiseWithResolvers<void> | undefined;

  protected constructor(server: Server, target: number) {
    this.port = (server.address() as AddressInfo).port;
    this.#server = server;
    this.#target = target;
    server.on('connection', (client) => this.#connect(client));
  }

  /** Opens a line to a port of this machine. */
  static async to(port: number): Promise<Wire> {
    return new this(await listening(), port);
  }

  /** Makes new connections lead to another port. The open ones stay. */
  leadTo(port: number): void {
    this.#target = port;
  }

  /** Resets every open connection. */
  cut(): void {
    this.#reset();
  }

  /** Resets every open connection, and each new one until `heal`. */
  unplug(): void {
    this.#refuses = true;
    this.#reset();
  }

  /** Passes nothing on in either direction until `heal`, without closing a connection. */
  stall(): void {
    this.#standstill ??= Promise.withResolvers();
  }

  /** Passes everything on this much later, until `heal`. */
  delay(ms: number): void {
    this.#delayMs = ms;
  }

  /** Ends every trouble. What stood still is passed on. */
  heal(): void {
    this.#refuses = false;
    this.#delayMs = 0;
    this.#standstill?.resolve();
    this.#standstill = undefined;
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    this.heal();
  }

  #reset(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  #connect(client: Socket): void {
    if (this.#refuses) {
      client.resetAndDestroy();
      return;
    }
    const upstream = connect(this.#target, '127.0.0.1');
    this.#pass(client, upstream);
    this.#pass(upstream, client);
  }

  #pass(from: Socket, to: Socket): void {
    this.#sockets.add(from);
    // One after the other, so that a shorter delay does not let later data overtake earlier data.
    let passed = Promise.resolve();
    from.on('data', (data) => {
      const dueMs = performance.now() + this.#delayMs;
      passed = passed.then(() => this.#wait(dueMs)).then(() => void to.write(data));
    });
    from.on('error', () => to.destroy());
    from.on('close', () => {
      this.#sockets.delete(from);
      passed = passed.then(() => this.#standstill?.promise).then(() => to.destroySoon());
    });
  }

  async #wait(dueMs: number): Promise<void> {
    await this.#standstill?.promise;
    const waitMs = dueMs - performance.now();
    if (waitMs > 0) await sleep(waitMs, undefined, { ref: false });
  }
}

/** Returns a server that listens on a free port of loopback. */
export async function listening(): Promise<Server> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}
