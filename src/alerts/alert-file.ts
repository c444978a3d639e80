import { z } from 'zod';
import { type Files, writeFileDurably } from '../platform/files/file-system.ts';
import type { Entry } from './alert-tracker.ts';
import { CONDITIONS } from './condition.ts';
import type { Notice } from './notice.ts';

/** State that survives a restart: the tracked conditions, and the unsent notices of each destination. */
export interface AlertState {
  readonly entries: readonly Entry[];
  readonly waiting: Readonly<Record<string, readonly Notice[]>>;
}

const condition = z.enum(CONDITIONS);
const about = z.string().optional();

const fileContent = z.object({
  entries: z.array(
    z.object({
      condition,
      about,
      sinceMs: z.number(),
      what: z.string(),
      toldMs: z.number().optional(),
      toldCount: z.number().optional(),
      wellSinceMs: z.number().optional(),
      overMs: z.number().optional(),
      times: z.number(),
    }),
  ),
  waiting: z.record(
    z.string(),
    z.array(
      z.object({
        kind: z.enum(['begun', 'lasts', 'over']),
        condition,
        about,
        since: z.coerce.date(),
        at: z.coerce.date(),
        what: z.string(),
        next: z.string(),
      }),
    ),
  ),
});

const EMPTY: AlertState = { entries: [], waiting: {} };

/**
 * Stores the alert state in a file beside the ledger rather than inside it, because alerts must also work when the ledger fails. If the file is
 * lost, a notice may be sent twice.
 */
export class AlertFile {
  readonly #files: Files;
  readonly #path: string;
  #written = '';
  #writing: Promise<void> = Promise.resolve();

  constructor(files: Files, path: string) {
    this.#files = files;
    this.#path = path;
  }

  /** Returns the stored state. Returns an empty state if the file is missing or unreadable, for example because another version wrote it. */
  async read(): Promise<AlertState> {
    try {
      const text = await this.#files.read(this.#path);
      if (text === undefined) return EMPTY;
      const { entries, waiting } = fileContent.parse(JSON.parse(text.toString('utf8')));
      return {
        entries: entries.map((entry) => ({ ...ABSENT, ...entry })),
        waiting: waiting as AlertState['waiting'],
      };
    } catch {
      return EMPTY; // repeated alerts are better than none
    }
  }

  /** Waits for a write in progress, then writes the state if it has changed. @throws the error from Node if a step of the write fails */
  write(state: AlertState): Promise<void> {
    const text = JSON.stringify(state);
    const written = this.#writing.then(() => this.#write(text));
    this.#writing = written.catch(() => undefined); // this write's caller gets the error; the next write tries again
    return written;
  }

  async #write(text: string): Promise<void> {
    if (text === this.#written) return;
    await writeFileDurably(this.#files, this.#path, Buffer.from(text), 0o600);
    this.#written = text;
  }
}

/** Defaults of the fields that JSON omits because they are undefined. */
const ABSENT = {
  about: undefined,
  toldMs: undefined,
  toldCount: undefined,
  wellSinceMs: undefined,
  overMs: undefined,
};
