import { z } from 'zod';
import { PROBLEMS, type Severity } from '../leads/problems.ts';
import type { DocumentStore } from '../platform/files/document-store.ts';
import { KeptDocument } from '../platform/files/kept-document.ts';
import type { AlertState, AlertStore } from './alert-store.ts';
import { CONDITIONS, type Condition } from './condition.ts';

const condition = z.enum(CONDITIONS);
const about = z.string().optional();
/** Absent in a document of an earlier version. */
const severity = z.enum(['critical', 'warning']).optional();

const content = z.object({
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

/** The name of the document. */
export const ALERTS = 'alerts.json';

/** Stores the alert state in a document, with a copy in memory, so that alerts go on while the ledger and what lies beside it cannot be reached. */
export class StoredAlerts implements AlertStore {
  readonly #kept: KeptDocument;
  #writing: Promise<void> = Promise.resolve();

  constructor(documents: DocumentStore) {
    this.#kept = new KeptDocument(documents, ALERTS);
  }

  async read(): Promise<AlertState> {
    try {
      const text = await this.#kept.read();
      if (text === undefined) return EMPTY;
      const { entries, waiting } = content.parse(JSON.parse(text));
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
    const written = this.#writing.then(() => this.#kept.write(text));
    this.#writing = written.catch(() => undefined); // this write's caller gets the error; the next write tries again
    return written;
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
