import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClientBase, PoolClient } from 'pg';
import type { Clock } from '../../platform/time/clock.ts';
import { quoted } from '../../postgres/identifier.ts';
import { LedgerPool } from './ledger-pool.ts';

/** Minimum time between two notices of this process, in ms. NOTIFY takes a lock that all databases of the server share. */
const BETWEEN_NOTICES_MS = 20;
const CONNECT_MS = 10_000;

/** Where notices travel: the server, and the ledger's own channel. */
interface NoticePlace {
  readonly url: string;
  readonly applicationName: string;
  readonly channel: string;
  /** Makes a new connection ready. */
  readonly prepare: (client: ClientBase) => Promise<void>;
  /** Sends a notice to the channel, over a connection that writes. */
  readonly send: (channel: string, payload: string) => Promise<void>;
}

/**
 * Notifies the other processes on a ledger of this process's writes, and receives their notices, by NOTIFY and LISTEN. A notice is sent in a
 * transaction of its own, after the transaction with the write, so that no other commit waits for it. If a notice is lost, the other processes find
 * the write the next time they check the ledger.
 */
export class Notices {
  readonly #own = randomUUID();
  readonly #pool: LedgerPool;
  readonly #clock: Clock;
  readonly #channel: string;
  readonly #send: NoticePlace['send'];
  #listener: Promise<PoolClient> | undefined;
  /** Whether another process has written since `changedElsewhere` was last asked. */
  #changed = false;
  readonly #waiting = new Set<() => void>();
  readonly #hearers = new Set<(message: string) => void>();
  #telling: Promise<void> | undefined;
  #again = false;
  readonly #closed = new AbortController();

  private constructor(pool: LedgerPool, clock: Clock, { channel, send }: NoticePlace) {
    this.#pool = pool;
    this.#clock = clock;
    this.#channel = channel;
    this.#send = send;
  }

  /** Connects and listens. */
  static async open(place: NoticePlace, clock: Clock): Promise<Notices> {
    const { url: address, applicationName, prepare } = place;
    const pool = await LedgerPool.open({
      address,
      connections: 1,
      connectMs: CONNECT_MS,
      applicationName,
      prepare,
    });
    const notices = new Notices(pool, clock, place);
    try {
      await notices.#listening();
    } catch (error) {
      await notices.close();
      throw error;
    }
    return notices;
  }

  /** Tells the other processes of a write. Tells them of several together that follow closely. */
  tell(): void {
    if (this.#closed.signal.aborted) return;
    this.#again = true;
    this.#telling ??= this.#tellAll().finally(() => {
      this.#telling = undefined;
    });
  }

  /** Sends a message to the other processes that is not about a write. It may get lost. */
  async send(message: string): Promise<void> {
    await this.#send(this.#channel, `${this.#own} ${message}`).catch(() => undefined);
  }

  /** Calls `hear` with each message of another process. */
  onMessage(hear: (message: string) => void): void {
    this.#hearers.add(hear);
  }

  /** Whether another process has sent a notice of a write since the last call, or may have, because the connection was lost. */
  async changedElsewhere(): Promise<boolean> {
    const listener = await this.#listening();
    // The server sends all notices from before this query ahead of its answer.
    await listener.query('SELECT 1');
    const changed = this.#changed;
    this.#changed = false;
    return changed;
  }

  /** Resolves at the next notice, or after `atMostMs`, or when the signal aborts. Resolves immediately if there is one to be asked for. */
  async nextWrite(atMostMs: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted || this.#changed) return;
    const over = new AbortController();
    const end = () => over.abort();
    signal.addEventListener('abort', end, { once: true });
    this.#waiting.add(end);
    await this.#clock.sleep(atMostMs, over.signal);
    this.#waiting.delete(end);
    signal.removeEventListener('abort', end);
  }

  /** Sends the last notice and disconnects. */
  async close(): Promise<void> {
    this.#closed.abort();
    await this.#telling;
    for (const end of this.#waiting) end();
    (await this.#listener?.catch(() => undefined))?.release(true);
    await this.#pool.end();
  }

  async #tellAll(): Promise<void> {
    while (this.#again) {
      this.#again = false;
      // A notice that cannot be sent is one that gets lost.
      await this.#send(this.#channel, this.#own).catch(() => undefined);
      await sleep(BETWEEN_NOTICES_MS, undefined, { ref: false, signal: this.#closed.signal }).catch(
        () => undefined,
      );
    }
  }

  #listening(): Promise<PoolClient> {
    this.#listener ??= this.#listen().catch((error) => {
      this.#listener = undefined;
      throw error;
    });
    return this.#listener;
  }

  async #listen(): Promise<PoolClient> {
    const client = await this.#pool.connect();
    client.on('notification', ({ payload = '' }) => {
      const from = payload.slice(0, this.#own.length);
      if (from === this.#own) return;
      const message = payload.slice(from.length + 1);
      if (message === '') this.#hear();
      else for (const hear of this.#hearers) hear(message);
    });
    try {
      await client.query(`LISTEN ${quoted(this.#channel)}`);
    } catch (error) {
      client.release(true);
      throw error;
    }
    client.once('end', () => {
      if (this.#closed.signal.aborted) return;
      client.release(true);
      this.#listener = undefined;
      this.#hear();
    });
    return client;
  }

  #hear(): void {
    this.#changed = true;
    for (const end of this.#waiting) end();
  }
}
