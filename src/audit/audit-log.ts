import { constants } from 'node:fs';
import { type FileHandle, open, rename, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { disk } from '../platform/files/file-system.ts';
import { giveToFolderOwner } from '../platform/files/folder-owner.ts';
import type { Clock } from '../platform/time/clock.ts';
import { auditFile, MAX_ROTATED_FILES } from './audit-files.ts';
import type {
  AuditCount,
  AuditFields,
  AuditFilter,
  AuditPage,
  AuditRequest,
  AuditStore,
} from './audit-store.ts';
import { countAudit, readAudit } from './read-audit.ts';

/** Size at which the file is rotated, in bytes. */
const MAX_BYTES = 10 * 1024 * 1024;
/** A line waiting to be written. */
interface Line {
  readonly text: string;
  readonly done: () => void;
  readonly failed: (error: unknown) => void;
}

/**
 * The audit log: one line of JSON for each view of a lead's content and each action. The current file is `audit.jsonl`; rotated files are
 * `audit.jsonl.1` to `.4`. Appends only; concurrent lines share one flush to disk. Several processes may append to the same file, because the
 * operating system appends each write atomically. Only one of them may rotate the file; the others must pass an infinite `maxBytes`.
 */
export class AuditLog implements AuditStore {
  readonly hint = 'Check that data_dir has free space and belongs to the user that leadsync runs as.';
  readonly #folder: string;
  readonly #file: string;
  readonly #clock: Clock;
  readonly #maxBytes: number;
  #waiting: Line[] = [];
  #writing: Promise<void> | undefined;
  #open: { readonly handle: FileHandle; bytes: number } | undefined;

  /** @param maxBytes size at which this process rotates the file, in bytes */
  constructor(folder: string, clock: Clock, maxBytes = MAX_BYTES) {
    this.#folder = folder;
    this.#file = auditFile(folder);
    this.#clock = clock;
    this.#maxBytes = maxBytes;
  }

  write(fields: AuditFields): Promise<void> {
    const text = `${JSON.stringify({ at: this.#clock.now(), ...fields })}\n`;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting.push({ text, done: resolve, failed: reject });
    this.#writing ??= this.#writeAll();
    return promise;
  }

  read(filter: AuditFilter, request: AuditRequest): Promise<AuditPage | undefined> {
    return readAudit(this.#folder, filter, request);
  }

  count(filter: AuditFilter, most: number): Promise<AuditCount> {
    return countAudit(this.#folder, filter, most);
  }

  async close(): Promise<void> {
    await this.#writing;
    await this.#open?.handle.close();
    this.#open = undefined;
  }

  async #writeAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const lines = this.#waiting;
      this.#waiting = [];
      try {
        await this.#append(lines.map(({ text }) => text).join(''));
        for (const { done } of lines) done();
      } catch (error) {
        await this.#open?.handle.close().catch(() => undefined); // the first error is reported below
        this.#open = undefined; // `#opened` then opens the file again, which ends an incomplete line
        for (const { failed } of lines) failed(error);
      }
    }
    this.#writing = undefined; // in the same turn of the event loop as the check above, so that a later line starts a new write
  }

  async #append(text: string): Promise<void> {
    const open = await this.#opened();
    const data = Buffer.from(text);
    await open.handle.appendFile(data);
    await open.handle.datasync();
    open.bytes += data.length;
  }

  async #opened(): Promise<{ readonly handle: FileHandle; bytes: number }> {
    this.#open ??= await openForAppend(this.#file);
    if (this.#open.bytes < this.#maxBytes) return this.#open;
    await this.#rotate();
    this.#open = await openForAppend(this.#file);
    return this.#open;
  }

  async #rotate(): Promise<void> {
    await this.#open?.handle.close();
    this.#open = undefined;
    for (let n = MAX_ROTATED_FILES - 1; n >= 0; n -= 1) {
      const from = n === 0 ? this.#file : `${this.#file}.${n}`;
      await rename(from, `${this.#file}.${n + 1}`).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'ENOENT') throw error;
      });
    }
  }
}

/** Opens the file for appending. Ends an incomplete line that a crash left behind, so that the next entry starts on a new line. */
async function openForAppend(file: string): Promise<{ handle: FileHandle; bytes: number }> {
  // The `open` below reports any error other than a missing file.
  const isNew = (await stat(file).catch(() => undefined)) === undefined;
  const handle = await open(file, constants.O_RDWR | constants.O_APPEND | constants.O_CREAT, 0o600);
  try {
    const { size } = await handle.stat();
    const last = Buffer.alloc(1);
    if (size > 0) await handle.read(last, 0, 1, size - 1);
    if (size > 0 && last.toString() !== '\n') await handle.appendFile('\n');
    if (isNew) {
      giveToFolderOwner(handle.fd, file);
      await disk.syncFolder(dirname(file));
    }
    return { handle, bytes: size };
  } catch (error) {
    await handle.close();
    throw error;
  }
}
