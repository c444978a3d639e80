import { parentPort, workerData } from 'node:worker_threads';
import { LedgerExtract, type Rows, type Stretch } from '../ledger/extracting.ts';
import { LedgerError } from '../ledger/ledger-error.ts';
import { relations } from '../store/documented.ts';
import type { Relation } from '../store/relation.ts';
import { type FileFormatName, fileFormats, type Piece } from './encoder.ts';

/** A thread of an export: reads a stretch of a table, and makes a piece of a file of each part. */

/** What is to be read. Without it: go on with what was read last. */
export interface Wanted {
  readonly relation: string;
  readonly since: Date | undefined;
  readonly stretch: Stretch;
}

/** What came of it; an error's parts, since a thread cannot hand over a class. */
export type Made =
  | { readonly piece: Piece; readonly rows: number }
  | { readonly end: true }
  | { readonly failure: Pick<LedgerError, 'code' | 'message' | 'hint'> };

const { file, format } = workerData as { file: string; format: FileFormatName };
let extract: LedgerExtract | undefined;
let columns: Relation['columns'];
let parts: Iterator<Rows>;

parentPort?.on('message', (wanted: Wanted | undefined) => {
  const made = make(wanted);
  parentPort?.postMessage(made, 'piece' in made ? [made.piece.bytes.buffer] : []);
});

function make(wanted: Wanted | undefined): Made {
  try {
    if (wanted) start(wanted);
    const { value: rows, done } = parts.next();
    return done ? { end: true } : { piece: fileFormats[format].piece(columns, rows), rows: rows.length };
  } catch (error) {
    if (!(error instanceof LedgerError)) throw error;
    const { code, message, hint } = error;
    return { failure: { code, message, hint } };
  }
}

function start({ relation: name, since, stretch }: Wanted): void {
  const relation = relations.find((one) => one.name === name) as Relation;
  columns = relation.columns;
  extract ??= new LedgerExtract(file);
  parts = extract.parts(relation, since, stretch);
}
