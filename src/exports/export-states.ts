import { readFileSync } from 'node:fs';
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { codeOf } from '../platform/failures/error-code.ts';
import { type Files, writeFileDurably } from '../platform/files/files.ts';
import { folderFailure } from './contract/export-failed.ts';

const time = z.coerce.date();

const schema = z.object({
  /** Its configuration, without secrets, for whoever asks what a change would do. */
  config: z.string(),
  /** Since when it is configured. */
  since: time,
  /** The last that was made. */
  done: z
    .object({
      startedAt: time,
      finishedAt: time,
      /** The time in its rows; absent of one that a version without `_exported_at` made. */
      exportedAt: time.optional(),
      place: z.string(),
      rows: z.number(),
      bytes: z.number(),
      /** As it was configured then. */
      config: z.string(),
    })
    .optional(),
  /** What has failed since, the last time. */
  failed: z
    .object({ at: time, times: z.number(), message: z.string(), hint: z.string(), retryAt: time })
    .optional(),
});

/** What is remembered of a scheduled export over a restart. */
export type ExportState = Readonly<z.output<typeof schema>>;

const FILE = /^(.+)\.json$/;

/**
 * Keeps what is remembered of each export in a file of its own, so that a run by hand and the daemon are not in each other's way. Apart
 * from the ledger: what is lost with such a file is one export that comes too early, or whole.
 */
export class ExportStates {
  readonly #files: Files;
  /** What the disk did not take: forgotten at once, an export would be due again every second. */
  readonly #unwritten = new Map<string, ExportState>();
  /** Of exports alone. */
  readonly folder: string;

  constructor(files: Files, dataDir: string) {
    this.#files = files;
    this.folder = join(dataDir, 'exports');
  }

  /** Undefined when nothing is remembered, or nothing that can be read. */
  read(name: string): ExportState | undefined {
    const unwritten = this.#unwritten.get(name);
    if (unwritten) return unwritten;
    try {
      return schema.parse(JSON.parse(readFileSync(this.#pathOf(name), 'utf8')));
    } catch {
      return undefined; // an export that begins anew is better than none
    }
  }

  /** What the disk does not take is remembered by this process alone, until there is more to write. */
  async write(name: string, state: ExportState): Promise<void> {
    this.#unwritten.set(name, state);
    try {
      await mkdir(this.folder, { recursive: true, mode: 0o700 });
      await writeFileDurably(this.#files, this.#pathOf(name), Buffer.from(JSON.stringify(state)), 0o600);
      this.#unwritten.delete(name);
    } catch (error) {
      if (!folderFailure(this.folder, error)) throw error;
    }
  }

  /** It is not in the configuration any more. */
  async forget(name: string): Promise<void> {
    this.#unwritten.delete(name);
    await this.#files.remove(this.#pathOf(name));
  }

  /** The exports of which something is remembered, also what cannot be read. @throws Node's error when the folder cannot be read */
  async names(): Promise<readonly string[]> {
    const names = await readdir(this.folder).catch((error: unknown) => {
      if (codeOf(error) === 'ENOENT') return []; // none was ever made
      throw error;
    });
    return names.flatMap((name) => FILE.exec(name)?.[1] ?? []).filter((name) => !name.startsWith('.'));
  }

  #pathOf(name: string): string {
    return join(this.folder, `${name}.json`);
  }
}
