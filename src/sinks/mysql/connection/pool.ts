import { connect, type Socket } from 'node:net';
import type { Connection } from 'mysql2';
import { withinDeadline } from '../../../platform/time/deadline.ts';
import { type Address, tlsOptions } from './address.ts';

/** Maximum number of prepared statements that a connection keeps: enough for a few batch sizes with a few sets of columns. */
const PREPARED = 32;
/** Maximum time for idle connections to close, in ms. */
const CLOSE_MS = 1_000;

/**
 * A connection and its socket. The pool destroys the socket, because `Connection.destroy` would first send pending data, and so hang if the
 * server hangs.
 */
interface Opened {
  readonly connection: Connection;
  readonly socket: Socket;
  isBroken: boolean;
}

/** A connection that one transaction uses. */
export interface Taken {
  readonly connection: Connection;
  /** Whether the connection was opened for this transaction. */
  readonly isNew: boolean;
  /** Returns the connection to the pool, for the next transaction. */
  release(): void;
  /** Closes the connection immediately. The server rolls back what was not committed. */
  destroy(): void;
}

/** Up to `max` connections, which are opened when they are needed and replaced when they break. */
export class Pool {
  readonly #address: Address;
  readonly #max: number;
  readonly #connectTimeoutMs: number;
  readonly #open = new Set<Opened>();
  readonly #idle: Opened[] = [];
  readonly #waiting: (() => void)[] = [];
  #taken = 0;
  #isClosed = false;

  constructor(address: Address, max: number, connectTimeoutMs: number) {
    this.#address = address;
    this.#max = max;
    this.#connectTimeoutMs = connectTimeoutMs;
  }

  /** Returns a connection once one is free. @throws the connection error, the abort reason of `signal`, or Error after `close` */
  async take(signal: AbortSignal): Promise<Taken> {
    while (this.#taken >= this.#max) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#taken += 1;
    try {
      signal.throwIfAborted();
      if (this.#isClosed) throw new Error('The pool is closed.');
      const idle = this.#idle.pop();
      return this.#lend(idle ?? (await this.#connect(signal)), idle === undefined);
    } catch (error) {
      this.#free();
      throw error;
    }
  }

  /** Closes every connection; a transaction that is running fails. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const idle = this.#idle.splice(0);
    const ends = idle.map(({ connection }) => new Promise((resolve) => connection.end(resolve)));
    await withinDeadline(CLOSE_MS, new AbortController().signal, () => Promise.all(ends)).catch(() => {
      // The server does not answer.
    });
    for (const { socket } of this.#open) socket.destroy();
  }

  #lend(opened: Opened, isNew: boolean): Taken {
    let isOver = false;
    const over = (end: () => void) => {
      if (isOver) return;
      isOver = true;
      end();
      this.#free();
    };
    return {
      connection: opened.connection,
      isNew,
      release: () =>
        over(() => {
          if (this.#isClosed) opened.socket.destroy();
          else if (!opened.isBroken) this.#idle.push(opened);
        }),
      destroy: () => over(() => opened.socket.destroy()),
    };
  }

  #free(): void {
    this.#taken -= 1;
    this.#waiting.shift()?.();
  }

  async #connect(signal: AbortSignal): Promise<Opened> {
    const { createConnection } = await import('mysql2');
    const { host, port, socketPath, user, password, database, tls } = this.#address;
    const ssl = tls && tlsOptions(tls);
    const socket =
      socketPath === undefined
        ? connect({ host, port, keepAlive: true, noDelay: true })
        : connect(socketPath);
    const connection = createConnection({
      host,
      port,
      stream: () => socket,
      user,
      password,
      database,
      ...(ssl && { ssl }),
      connectTimeout: this.#connectTimeoutMs,
      charset: 'utf8mb4_bin',
      // The server cannot request local files, and mysql2 generates no code from column names.
      flags: ['-LOCAL_FILES', '-IGNORE_SPACE'],
      disableEval: true,
      maxPreparedStatements: PREPARED,
      supportBigNumbers: true,
      bigNumberStrings: true,
      dateStrings: true,
      jsonStrings: true,
    });
    const opened: Opened = { connection, socket, isBroken: false };
    this.#watch(opened);
    const cut = () => socket.destroy();
    signal.addEventListener('abort', cut, { once: true });
    try {
      await new Promise<void>((resolve, reject) => {
        connection.connect((error) => (error ? reject(error) : resolve()));
      });
      return opened;
    } catch (error) {
      socket.destroy();
      throw error;
    } finally {
      signal.removeEventListener('abort', cut);
    }
  }

  /** Removes a connection from the pool when it breaks. Its next statement reports the error. Without a listener, Node.js would end the process. */
  #watch(opened: Opened): void {
    const broken = () => {
      opened.isBroken = true;
      this.#open.delete(opened);
      const at = this.#idle.indexOf(opened);
      if (at >= 0) this.#idle.splice(at, 1);
    };
    this.#open.add(opened);
    opened.connection.on('error', broken);
    opened.socket.on('error', broken);
    opened.socket.on('close', broken);
    opened.socket.on('end', broken);
  }
}
