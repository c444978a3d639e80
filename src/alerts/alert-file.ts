import { z } from 'zod';
import { type Files, writeFileDurably } from '../platform/files/files.ts';
import type { Entry } from './alert-tracker.ts';
import { CONDITIONS } from './condition.ts';
import type { Notice } from './notice.ts';

/** What is kept over a restart: what is wrong and who was told, and what has not been sent yet, by destination. */
export interface AlertState {
  readonly entries: readonly Entry[];
  readonly waiting: Readonly<Record<string, readonly Notice[]>>;
}

const condition = z.enum(CONDITIONS);
const about = z.string().optional();

const kept = z.object({
  entries: z.array(
    z.object({
      condition,
      about,
      sinceMs: z.number(),
      what: z.string(),
      toldMs: z.number().optional(),
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

const NOTHING: AlertState = { entries: [], waiting: {} };

/**
 * Keeps the state of the alerts in a file beside the ledger, and not inside it: what is told first of all is that the ledger
 * fails. Losing it costs a notice that comes twice.
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

  /** What was kept; nothing when there is no file, or one that another version or a crash left unreadable. */
  async read(): Promise<AlertState> {
    try {
      const text = await this.#files.read(this.#path);
      if (text === undefined) return NOTHING;
      const { entries, waiting } = kept.parse(JSON.parse(text.toString('utf8')));
      return {
        entries: entries.map((entry) => ({ ...ABSENT, ...entry })),
        waiting: waiting as AlertState['waiting'],
      };
    } catch {
      return NOTHING; // alerts that begin anew are better than none
    }
  }

  /** Writes what has changed, behind what is being written. @throws Node's error of the step that failed */
  write(state: AlertState): Promise<void> {
    const text = JSON.stringify(state);
    const written = this.#writing.then(() => this.#write(text));
    this.#writing = written.catch(() => undefined); // its caller hears of it; the next one has its own try
    return written;
  }

  async #write(text: string): Promise<void> {
    if (text === this.#written) return;
    await writeFileDurably(this.#files, this.#path, Buffer.from(text), 0o600);
    this.#written = text;
  }
}

/** JSON has no undefined. */
const ABSENT = { about: undefined, toldMs: undefined, wellSinceMs: undefined, overMs: undefined };
