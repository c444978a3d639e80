import { appendFile, mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setImmediate as otherWork } from 'node:timers/promises';
import { LedgerExtract, type Rows } from '../ledger/extracting.ts';
import { PublicCopy } from '../ledger/public-copy.ts';
import { extractionOf } from '../store/extraction.ts';
import type { Relation } from '../store/relation.ts';
import { type FileFormatName, fileFormats, type Piece } from './encoder.ts';
import { Partitions } from './partitions.ts';
import { Pieces } from './pieces.ts';
import { wholeOrNot } from './whole-or-not.ts';

/** How tables are written: each as a file, or all of them as tables of one SQLite file. */
export const EXPORT_FORMATS = ['parquet', 'csv', 'jsonl', 'sqlite'] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

/** What is to be exported. */
export interface ExportRequest {
  readonly ledgerFile: string;
  /** The file, or the folder, which must not be there. */
  readonly output: string;
  readonly format: ExportFormat;
  readonly relations: readonly Relation[];
  /** `file`: the one table is the file itself; `folder`: a file for each; `days`: and a folder of them for each day. */
  readonly layout: 'file' | 'folder' | 'days';
  /** Rows that came or changed from then on; undefined for all. */
  readonly since: Date | undefined;
}

/** Is told how many rows of a table were written so far. */
export type Written = (table: string, rows: number) => void;

/** Personal data: for this user alone. */
const [FILE_MODE, FOLDER_MODE] = [0o600, 0o700];

/**
 * Writes tables of a ledger to files, all of them or none, and holds a part of them in memory at a time. A daemon may run meanwhile.
 * @throws AlreadyThere, LedgerError, Node's error of the disk, the signal's reason
 */
export async function exportTables(
  request: ExportRequest,
  written: Written,
  stop: AbortSignal,
): Promise<void> {
  const extract = new LedgerExtract(request.ledgerFile);
  try {
    await wholeOrNot(request.output, async (temporary) => {
      const work = { request, extract, written, stop };
      if (request.format === 'sqlite') await writeCopy(work, temporary);
      else await writeFiles(work, request.format, temporary);
    });
  } finally {
    extract.close();
  }
}

interface Work {
  readonly request: ExportRequest;
  readonly extract: LedgerExtract;
  readonly written: Written;
  readonly stop: AbortSignal;
}

async function writeCopy(work: Work, path: string): Promise<void> {
  await append(path, Buffer.alloc(0)); // made by us, so that nobody else may read it
  const copy = new PublicCopy(path);
  try {
    for (const relation of work.request.relations) {
      const add = copy.add(relation);
      await eachPart(work, relation, async (rows) => add(rows));
      copy.index(relation);
    }
  } finally {
    copy.close();
  }
}

async function writeFiles(work: Work, name: FileFormatName, output: string): Promise<void> {
  const { ledgerFile, layout, relations } = work.request;
  const pieces = new Pieces(ledgerFile, name);
  try {
    for (const relation of relations) {
      const { day } = extractionOf(relation.name);
      const file =
        layout === 'file' ? output : join(output, `${relation.name}.${fileFormats[name].extension}`);
      if (layout !== 'days' || day === undefined) await writeFile(work, relation, name, pieces, file);
      else await writeDays(work, { ...relation, day }, name, join(output, relation.name));
    }
  } finally {
    await pieces.close();
  }
}

async function writeFile(
  { request, extract, written, stop }: Work,
  relation: Relation,
  name: FileFormatName,
  pieces: Pieces,
  file: string,
): Promise<void> {
  const encoder = fileFormats[name].open(relation.columns);
  let count = 0;
  written(relation.name, count);
  for await (const { piece, rows } of pieces.of(relation, request.since, extract)) {
    await append(file, encoder.add(piece));
    free(piece);
    count += rows;
    written(relation.name, count);
    stop.throwIfAborted();
  }
  await append(file, encoder.end());
}

/** Here so little else is allocated that the collector would leave many of them lying. */
function free({ bytes: { buffer } }: Piece): void {
  if (buffer instanceof ArrayBuffer) buffer.transfer(0);
}

async function writeDays(
  work: Work,
  relation: Relation & { readonly day: string },
  name: FileFormatName,
  folder: string,
): Promise<void> {
  await mkdir(folder, { recursive: true, mode: FOLDER_MODE });
  const days = new Partitions(folder, relation, fileFormats[name], append);
  await eachPart(work, relation, (rows) => days.add(rows));
  await days.end();
}

async function eachPart(
  { request, extract, written, stop }: Work,
  relation: Relation,
  take: (rows: Rows) => Promise<void>,
): Promise<void> {
  let count = 0;
  written(relation.name, count);
  for (const rows of extract.parts(relation, request.since)) {
    await take(rows);
    count += rows.length;
    written(relation.name, count);
    await otherWork(); // a signal, say
    stop.throwIfAborted();
  }
}

async function append(path: string, bytes: Buffer): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: FOLDER_MODE });
  await appendFile(path, bytes, { mode: FILE_MODE });
}
