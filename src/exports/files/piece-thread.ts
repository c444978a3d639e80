import { parentPort, workerData } from 'node:worker_threads';
import { relations } from '../../catalog/documented.ts';
import type { Relation } from '../../catalog/relation.ts';
import { LedgerError } from '../../ledger/contract/ledger-error.ts';
import { LedgerExtract, type Rows, type Stretch } from '../../ledger/extraction/extracting.ts';
import { type FileFormatName, fileFormats, type Piece } from './encoder.ts';
import { type Place, type Sorted, sortedByDay, spilledParts } from './spill.ts';
import { stamped, withStamp } from './stamp.ts';

/** A worker thread of an export: reads rows of a table in parts, and encodes or sorts each part. */

/** Rows from the ledger. */
interface OfLedger {
  readonly relation: string;
  readonly exportedAt: Date;
  readonly since: Date | undefined;
  readonly stretch: Stretch;
}

/** Rows from a spill. */
interface OfSpill {
  readonly relation: string;
  readonly exportedAt: Date;
  readonly spill: string;
  readonly places: readonly Place[];
}

/** A request to encode rows as pieces of a file. */
export type ToEncode = (OfLedger | OfSpill) & { readonly format: FileFormatName };

/** A request to sort rows by the day in one of their columns. */
export type ToSort = OfLedger & { readonly dayAt: number };

/** A request to the thread: what to read, and what to do with it. */
export type Wanted = ToEncode | ToSort;

/** The result for one part. */
export type MadeOf<W extends Wanted> = W extends ToSort ? Sorted : Piece;

/** An answer of the thread. It has the fields of an error, because a message cannot carry a class. */
export type Made<W extends Wanted = Wanted> =
  | { readonly made: MadeOf<W>; readonly rows: number }
  | { readonly end: true }
  | { readonly failure: Pick<LedgerError, 'code' | 'message' | 'hint'> };

const { file } = workerData as { file: string };
let extract: LedgerExtract | undefined;
let under: { readonly parts: Iterator<Rows>; readonly make: (rows: Rows) => Piece | Sorted };

// Undefined: continue with the last request.
parentPort?.on('message', (wanted: Wanted | undefined) => {
  const made = next(wanted);
  parentPort?.postMessage(made, 'made' in made ? [made.made.bytes.buffer] : []);
});

function next(wanted: Wanted | undefined): Made {
  try {
    if (wanted) under = begun(wanted);
    const { value: rows, done } = under.parts.next();
    return done ? { end: true } : { made: under.make(rows), rows: rows.length };
  } catch (error) {
    if (!(error instanceof LedgerError)) throw error;
    const { code, message, hint } = error;
    return { failure: { code, message, hint } };
  }
}

function begun(wanted: Wanted): typeof under {
  const relation = relations.find((one) => one.name === wanted.relation) as Relation;
  const parts = partsOf(wanted, relation);
  if ('dayAt' in wanted) return { parts, make: (rows) => sortedByDay(rows, wanted.dayAt) };
  const { columns } = stamped(relation);
  return {
    parts,
    make: (rows) => fileFormats[wanted.format].piece(columns, withStamp(rows, wanted.exportedAt)),
  };
}

function partsOf(wanted: Wanted, relation: Relation): Iterator<Rows> {
  if ('spill' in wanted) return spilledParts(wanted.spill, wanted.places);
  extract ??= new LedgerExtract(file);
  return extract.parts(relation, wanted.since, wanted.stretch);
}
