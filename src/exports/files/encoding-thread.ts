import { parentPort, workerData } from 'node:worker_threads';
import { relations } from '../../catalog/catalog.ts';
import type { Relation } from '../../catalog/relation.ts';
import { LedgerError } from '../../ledger/contract/ledger-error.ts';
import type { LedgerTables, Rows, Stretch, TablesPlace } from '../../ledger/contract/ledger-tables.ts';
import { withExportedAt, withExportedAtColumn } from './exported-at-column.ts';
import { type FileFormatName, fileFormats, type Piece } from './file-formats.ts';
import { openTables } from './open-tables.ts';
import { type Place, type Sorted, sortedByDay, spilledParts } from './spill-file.ts';

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

/** A request to the thread: which rows to read, and whether to encode or to sort them. */
export type PieceRequest = ToEncode | ToSort;

/** The result for one part. */
export type PieceResult<W extends PieceRequest> = W extends ToSort ? Sorted : Piece;

/** A response from the thread. A failure has the fields of an error, because a message cannot carry an instance of a class. */
export type PieceResponse<W extends PieceRequest = PieceRequest> =
  | { readonly result: PieceResult<W>; readonly rows: number }
  | { readonly end: true }
  | { readonly failure: Pick<LedgerError, 'code' | 'message' | 'hint'> };

const { ledger } = workerData as { ledger: TablesPlace };
let tables: LedgerTables | undefined;
let current: {
  readonly parts: Iterator<Rows> | AsyncIterator<Rows>;
  readonly make: (rows: Rows) => Piece | Sorted;
};

// The message `undefined` continues the last request.
parentPort?.on('message', async (request: PieceRequest | undefined) => {
  const response = await next(request);
  parentPort?.postMessage(response, 'result' in response ? [response.result.bytes.buffer] : []);
});

async function next(request: PieceRequest | undefined): Promise<PieceResponse> {
  try {
    if (request) current = await begin(request);
    const { value: rows, done } = await current.parts.next();
    return done ? { end: true } : { result: current.make(rows), rows: rows.length };
  } catch (error) {
    if (!(error instanceof LedgerError)) throw error;
    const { code, message, hint } = error;
    return { failure: { code, message, hint } };
  }
}

async function begin(request: PieceRequest): Promise<typeof current> {
  const relation = relations.find((one) => one.name === request.relation) as Relation;
  const parts = await partsOf(request, relation);
  if ('dayAt' in request) return { parts, make: (rows) => sortedByDay(rows, request.dayAt) };
  const { columns } = withExportedAtColumn(relation);
  return {
    parts,
    make: (rows) => fileFormats[request.format].piece(columns, withExportedAt(rows, request.exportedAt)),
  };
}

async function partsOf(request: PieceRequest, relation: Relation): Promise<typeof current.parts> {
  if ('spill' in request) return spilledParts(request.spill, request.places);
  tables ??= await openTables(ledger);
  return tables.parts(relation, request.since, request.stretch);
}
