import { parentPort, workerData } from 'node:worker_threads';
import Database from 'better-sqlite3';
import { toReadingError } from '../contract/ledger-error.ts';
import { Questions } from './questions.ts';

/** The thread of a `LedgerReader`: answers one question after the other, and can write nothing. */

/** A question by its name in `Questions`. */
export interface Asked {
  readonly id: number;
  readonly name: keyof Questions;
  readonly args: readonly unknown[];
}

/** What came of it; an error's parts, since a thread cannot hand over a class. */
export type Answered = { readonly id: number } & (
  | { readonly value: unknown }
  | { readonly failure: Pick<ReturnType<typeof toReadingError>, 'code' | 'message' | 'hint'> }
);

/** How long a question waits while the ledger is being repaired after a crash, in ms. */
const BUSY_MS = 1_000;

const { file } = workerData as { file: string };
let questions: Questions | undefined;
let db: Database.Database | undefined;

parentPort?.on('message', (asked: Asked) => parentPort?.postMessage(answer(asked)));

function answer({ id, name, args }: Asked): Answered {
  try {
    db ??= new Database(file, { readonly: true, fileMustExist: true, timeout: BUSY_MS });
    questions ??= new Questions(db);
    const ask = questions[name].bind(questions) as (...given: readonly unknown[]) => unknown;
    // On one state of the ledger; it ends with the answer, so that it holds up no clearing of the log.
    const value = db.transaction(() => ask(...args)).deferred();
    return { id, value };
  } catch (error) {
    const { code, message, hint } = toReadingError(error, file);
    return { id, failure: { code, message, hint } };
  }
}
