import { join } from 'node:path';
import { z } from 'zod';
import { PROBLEMS, type Severity } from '../leads/problems.ts';
import { type Files, writeFileDurably } from '../platform/files/file-system.ts';
import type { AlertState, AlertStore } from './alert-store.ts';
import { CONDITIONS, type Condition } from './condition.ts';

const condition = z.enum(CONDITIONS);
const about = z.string().optional();
/** Absent in a file of an earlier version. */
const severity = z.enum(['critical', 'warning']).optional();

const fileContent = z.object({
  entries: z.array(
    z.object({
      condition,
      severity,
      toldSeverity: severity,
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
        severity,
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

/** Returns the path of the alert state in a data directory. */
export function alertFile(dataDir: string): string {
  return join(dataDir, 'alerts.json');
}

/** Stores the alert state in a file beside the ledger, so that it survives a failing ledger. */
export class AlertFile implements AlertStore {
  readonly #files: Files;
  readonly #path: string;
  #written = '';
  #writing: Promise<void> = Promise.resolve();

  constructor(files: Files, path: string) {
    this.#files = files;
    this.#path = path;
  }

  async read(): Promise<AlertState> {
    try {
      const text = await this.#files.read(this.#path);
      if (text === undefined) return EMPTY;
      const { entries, waiting } = fileContent.parse(JSON.parse(text.toString('utf8')));
      return {
        entries: entries.map((entry) => ({ ...ABSENT, ...withSeverity(entry) })),
        waiting: Object.fromEntries(
          Object.entries(waiting).map(([name, notices]) => [
            name,
            notices.map((notice) => ({ about: undefined, ...withSeverity(notice) })),
          ]),
        ),
      };
    } catch {
      return EMPTY; // repeated alerts are better than none
    }
  }

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

/** Adds the usual severity of the condition if there is none. */
function withSeverity<Of extends { condition: Condition; severity?: Severity | undefined }>(of: Of) {
  return { ...of, severity: of.severity ?? PROBLEMS[of.condition].severity };
}

/** Defaults of the fields that JSON omits because they are undefined. */
const ABSENT = {
  about: undefined,
  toldSeverity: undefined,
  toldMs: undefined,
  toldCount: undefined,
  wellSinceMs: undefined,
  overMs: undefined,
};
