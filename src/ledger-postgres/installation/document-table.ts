import { randomBytes } from 'node:crypto';
import type { DocumentLock, DocumentStore } from '../../platform/files/document-store.ts';
import type { Clock } from '../../platform/time/clock.ts';
import type { PostgresAccess } from '../database/postgres-access.ts';
import { statement } from '../database/statement.ts';

/** How long a lock lasts unless its holder renews it, and how often the holder does so, in ms. */
const LEASE_MS = 15_000;
const RENEW_MS = 5_000;

/**
 * Documents as rows of `_documents`, which every machine can read. A lock is a lease that its holder renews. The holder loses it, without noticing,
 * if its machine is suspended for longer than the lease. A lock therefore only avoids useless work: a caller that relies on a document must read it
 * again under the lock.
 */
export class DocumentTable implements DocumentStore {
  readonly hint = 'Check that the server of the ledger can be reached, and accepts writes.';
  readonly #access: PostgresAccess;
  readonly #folder: string;
  readonly #clock: Clock;

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

  async write(name: string, text: string): Promise<void> {
    await this.#access.write((tx) => tx.run(WRITE, [this.#folder, name, text, tx.now]));
  }

  async rename(from: string, to: string): Promise<void> {
    await this.#access.write(async (tx) => {
      const found = await tx.first(TAKE, [this.#folder, from]);
      if (found) await tx.run(WRITE, [this.#folder, to, found.content, tx.now]);
    });
  }

  async remove(name: string): Promise<void> {
    await this.#access.write((tx) => tx.run(REMOVE, [this.#folder, name]));
  }

  async tryLock(name: string): Promise<DocumentLock | undefined> {
    const token = randomBytes(8).toString('hex');
    const key = [this.#folder, name, token];
    const taken = await this.#access.write((tx) => tx.run(LOCK, [...key, tx.now + LEASE_MS, tx.now]));
    if (taken === 0) return undefined;
    const released = new AbortController();
    const renewing = this.#renew(key, released.signal);
    return {
      release: async () => {
        released.abort();
        await renewing;
        // If the server cannot be reached, the lease ends by itself.
        await this.#access.write((tx) => tx.run(UNLOCK, key)).catch(() => undefined);
      },
    };
  }

  async #renew(key: readonly string[], signal: AbortSignal): Promise<void> {
    for (;;) {
      await this.#clock.sleep(RENEW_MS, signal);
      if (signal.aborted) return;
      // The next renewal may succeed, while the lease lasts.
      await this.#access.write((tx) => tx.run(RENEW, [...key, tx.now + LEASE_MS])).catch(() => undefined);
    }
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

const LOCK = statement(
  'lock-document',
  `INSERT INTO _document_locks AS l (folder, name, token, held_until) VALUES ($1, $2, $3, $4)
   ON CONFLICT (folder, name) DO UPDATE SET token = excluded.token, held_until = excluded.held_until WHERE l.held_until <= $5`,
);

const RENEW = statement(
  'renew-document-lock',
  'UPDATE _document_locks SET held_until = $4 WHERE folder = $1 AND name = $2 AND token = $3',
);

const UNLOCK = statement(
  'unlock-document',
  'DELETE FROM _document_locks WHERE folder = $1 AND name = $2 AND token = $3',
);
