import { randomBytes } from 'node:crypto';
import { type DocumentLock, type DocumentStore, LockLost } from '../../platform/files/document-store.ts';
import type { Clock } from '../../platform/time/clock.ts';
import type { PostgresAccess } from '../database/postgres-access.ts';
import { statement } from '../database/statement.ts';
import type { Transaction } from '../database/transaction.ts';
import { LEASE_MS, type LockKey, LockLease } from './lock-lease.ts';

/** How long the server may take to answer for a lock, in ms. A lock that cannot be released ends with its lease. */
const ANSWER_MS = 2_500;

/** The lock of another process, as this one has seen it. */
interface SeenLock {
  readonly token: string;
  readonly heldUntil: number;
  /** When this process saw it so for the first time, by its monotonic clock, in ms. */
  readonly sinceMs: number;
}

/**
 * Documents as rows of `_documents`, which every machine can read. A lock is a lease that its holder renews. Another process takes it once it has seen
 * the lock unchanged for the length of a lease, by its own monotonic clock: no clock that is set ahead ends a lock, and none that is set back extends
 * it. A process that stood still for longer than its lease finds that out by its own clocks, and cannot change a document any more.
 */
export class DocumentTable implements DocumentStore {
  readonly hint = 'Check that the server of the ledger can be reached, and accepts writes.';
  readonly #access: PostgresAccess;
  readonly #folder: string;
  readonly #clock: Clock;
  readonly #seen = new Map<string, SeenLock>();
  readonly #keys = new WeakMap<DocumentLock, LockKey>();

  /** @param folder which documents belong together: `tokens` */
  constructor(access: PostgresAccess, folder: string, clock: Clock) {
    this.#access = access;
    this.#folder = folder;
    this.#clock = clock;
  }

  placeOf(name: string): string {
    return `${this.#folder}/${name} in ${this.#access.where}`;
  }

  async prepare(): Promise<void> {}

  async probe(): Promise<void> {
    await this.#access.write((tx) => tx.run(REMOVE, [this.#folder, '']));
  }

  async names(): Promise<readonly string[]> {
    const rows = await this.#access.read((tx) => tx.rows(NAMES, [this.#folder]));
    return rows.map(({ name }) => name);
  }

  async read(name: string): Promise<string | undefined> {
    return (await this.#access.read((tx) => tx.first(READ, [this.#folder, name])))?.content;
  }

  async write(name: string, text: string, under?: DocumentLock): Promise<void> {
    await this.#change(under, (tx) => tx.run(WRITE, [this.#folder, name, text, tx.now]));
  }

  async rename(from: string, to: string, under?: DocumentLock): Promise<void> {
    await this.#change(under, async (tx) => {
      const found = await tx.first(TAKE, [this.#folder, from]);
      if (found) await tx.run(WRITE, [this.#folder, to, found.content, tx.now]);
    });
  }

  async remove(name: string, under?: DocumentLock): Promise<void> {
    await this.#change(under, (tx) => tx.run(REMOVE, [this.#folder, name]));
  }

  async tryLock(name: string): Promise<DocumentLock | undefined> {
    const key = [this.#folder, name, randomBytes(8).toString('hex')] as const;
    const lease = new LockLease(this.#clock, () => this.#renew(key));
    const seen = this.#seen.get(name);
    const isEnded = seen !== undefined && this.#clock.monotonicMs() - seen.sinceMs >= LEASE_MS;
    const ended = isEnded ? [seen.token, seen.heldUntil] : [null, null];
    const other = await this.#access.write(async (tx) => {
      const taken = await tx.run(LOCK, [...key, tx.now + LEASE_MS, ...ended]);
      return taken > 0 ? undefined : await tx.first(HOLDER, [this.#folder, name]);
    });
    if (other) {
      this.#see(name, other);
      return undefined;
    }
    this.#seen.delete(name);
    const lock = lease.begin(() => this.#unlock(key));
    this.#keys.set(lock, key);
    return lock;
  }

  async isLocked(name: string): Promise<boolean> {
    const locked = await this.#access.read((tx) =>
      tx.first(IS_LOCKED, [this.#folder, name, tx.now, LEASE_MS]),
    );
    return locked !== undefined;
  }

  #see(name: string, { token, held_until: heldUntil }: { token: string; held_until: number }): void {
    const seen = this.#seen.get(name);
    if (seen?.token === token && seen.heldUntil === heldUntil) return;
    this.#seen.set(name, { token, heldUntil, sinceMs: this.#clock.monotonicMs() });
  }

  /** Returns whether the lease was renewed; undefined if the server did not say. */
  async #renew(key: LockKey): Promise<boolean | undefined> {
    return this.#access
      .beat(ANSWER_MS, (tx) => tx.run(RENEW, [...key, tx.now + LEASE_MS]))
      .then(
        (rows) => rows > 0,
        () => undefined,
      );
  }

  async #unlock(key: LockKey): Promise<void> {
    await this.#access.beat(ANSWER_MS, (tx) => tx.run(UNLOCK, key)).catch(() => undefined);
  }

  /** @throws LockLost if another process has the lock. An unknown lock is one of another store, which is a fault of the caller. */
  async #change(under: DocumentLock | undefined, work: (tx: Transaction) => Promise<unknown>): Promise<void> {
    const key = under && this.#keys.get(under);
    if (under && !key) throw new LockLost('the lock is not one of this store');
    const isDone = await this.#access.write(async (tx) => {
      if (key && !(await tx.first(FENCE, key))) return false;
      await work(tx);
      return true;
    });
    if (!isDone) throw new LockLost('another process has taken the lock');
  }
}

const NAMES = statement<{ name: string }>(
  'document-names',
  'SELECT name FROM _documents WHERE folder = $1 ORDER BY name COLLATE "C"',
);

const READ = statement<{ content: string }>(
  'read-document',
  'SELECT content FROM _documents WHERE folder = $1 AND name = $2',
);

const WRITE = statement(
  'write-document',
  `INSERT INTO _documents (folder, name, content, written_at) VALUES ($1, $2, $3, $4)
   ON CONFLICT (folder, name) DO UPDATE SET content = excluded.content, written_at = excluded.written_at`,
);

const TAKE = statement<{ content: string }>(
  'take-document',
  'DELETE FROM _documents WHERE folder = $1 AND name = $2 RETURNING content',
);

const REMOVE = statement('remove-document', 'DELETE FROM _documents WHERE folder = $1 AND name = $2');

/** Takes a lock that is free, or that is still as this process saw it. */
const LOCK = statement(
  'lock-document',
  `INSERT INTO _document_locks AS l (folder, name, token, held_until) VALUES ($1, $2, $3, $4)
   ON CONFLICT (folder, name) DO UPDATE SET token = excluded.token, held_until = excluded.held_until WHERE l.token = $5 AND l.held_until = $6::bigint`,
);

const HOLDER = statement<{ token: string; held_until: number }>(
  'holder-of-document-lock',
  'SELECT token, held_until FROM _document_locks WHERE folder = $1 AND name = $2',
);

/** A lease that ends later than any that is given now was given before the clock was set back. Whether its holder still renews it, only time shows. */
const IS_LOCKED = statement<{ token: string }>(
  'is-document-locked',
  'SELECT token FROM _document_locks WHERE folder = $1 AND name = $2 AND held_until > $3::bigint AND held_until <= $3::bigint + $4::bigint',
);

/** The row shows every renewal, even one at the same time as the last one, or after the clock was set back. */
const RENEW = statement(
  'renew-document-lock',
  `UPDATE _document_locks SET held_until = greatest(held_until + 1, $4::bigint) WHERE folder = $1 AND name = $2 AND token = $3`,
);

const UNLOCK = statement(
  'unlock-document',
  'DELETE FROM _document_locks WHERE folder = $1 AND name = $2 AND token = $3',
);

/** Keeps the lock from being taken until the transaction ends. */
const FENCE = statement<{ token: string }>(
  'fence-document',
  'SELECT token FROM _document_locks WHERE folder = $1 AND name = $2 AND token = $3 FOR UPDATE',
);
