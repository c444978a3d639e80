import type { Pool, PoolClient } from 'pg';
import { openPool, type PoolOptions } from '../../postgres/open-pool.ts';
import { isOfServer } from '../../postgres/server-error.ts';
import { SharedSlots } from './shared-slots.ts';

/** SQLSTATE too_many_connections: of the server, of a database, or of a role (PostgreSQL manual, appendix A). */
const TOO_MANY = '53300';

/** The connections of this process, by the address that it connects to. */
const slotsOf = new Map<string, SharedSlots>();

/**
 * A pool of connections to the server of a ledger. If the server grants this process fewer connections than its pools would use, they take turns: a pool
 * whose connection is refused gets the one that another pool does not use, or waits until a connection is returned.
 */
export class LedgerPool {
  readonly #pool: Pool;
  readonly #slots: SharedSlots;
  readonly #connectMs: number;

  private constructor(pool: Pool, slots: SharedSlots, connectMs: number) {
    this.#pool = pool;
    this.#slots = slots;
    this.#connectMs = connectMs;
    slots.add(pool);
  }

  /** Prepares a pool, which connects when it is first used. */
  static async open(options: PoolOptions): Promise<LedgerPool> {
    const slots = slotsOf.get(options.address) ?? new SharedSlots();
    slotsOf.set(options.address, slots);
    return new LedgerPool(await openPool(options), slots, options.connectMs);
  }

  /** Returns a connection. @throws the server's error if it grants none, and no pool of this process returns one in time */
  async connect(): Promise<PoolClient> {
    const endsMs = performance.now() + this.#connectMs;
    const request = () => this.#pool.connect();
    for (let ask = () => this.#slots.asking(request); ; ask = request) {
      try {
        return await ask();
      } catch (error) {
        if (!isOfServer(error) || error.code !== TOO_MANY) throw error;
        if (!(await this.#slots.freed(endsMs - performance.now()))) throw error;
      }
    }
  }

  /** Runs one statement on a connection. */
  async query(text: string, values: readonly unknown[]): Promise<{ readonly rows: readonly unknown[] }> {
    const client = await this.connect();
    try {
      const result = await client.query(text, [...values]);
      client.release();
      return result;
    } catch (error) {
      client.release(true);
      throw error;
    }
  }

  /** Closes all connections. Resolves once those that are in use are returned. */
  async end(): Promise<void> {
    this.#slots.remove(this.#pool);
    await this.#pool.end();
  }
}
