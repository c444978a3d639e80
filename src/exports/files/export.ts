import { constants } from 'node:fs';
import { appendFile, mkdir, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setImmediate as otherWork } from 'node:timers/promises';
import { extractionOf } from '../../catalog/extraction.ts';
import type { Relation } from '../../catalog/relation.ts';
import { LedgerExtract } from '../../ledger/extraction/extracting.ts';
import { PublicCopy } from '../../ledger/extraction/public-copy.ts';
import { version } from '../../platform/process/version.ts';
import type { ExportFormat } from '../contract/export-format.ts';
import { type About, type Encoder, type FileFormatName, fileFormats, type Piece } from './encoder.ts';
import { Pieces } from './pieces.ts';
import { type Sorted, Spill } from './spill.ts';
import { stamped, withStamp } from './stamp.ts';
import { wholeOrNot } from './whole-or-not.ts';

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
  /** The time of this export, in every row of it. */
  readonly exportedAt: Date;
}

/** Is told how many rows of a table were written so far; of one that is written by days, how many were sorted by them before. */
export type HowFar = (table: string, rows: number, done: 'sorted' | 'written') => void;

/** Personal data: for this user alone. */
const [FILE_MODE, FOLDER_MODE] = [0o600, 0o700];

/**
 * Writes tables of a ledger to files, all of them or none, and holds a part of them in memory at a time. A daemon may run meanwhile.
 * @throws AlreadyThere, RemovedMeanwhile, LedgerError, Node's error of the disk, the signal's reason
 */
export async function exportTables(request: ExportRequest, howFar: HowFar, stop: AbortSignal): Promise<void> {
  const extract = new LedgerExtract(request.ledgerFile);
  try {
    await wholeOrNot(request.output, async (temporary) => {
      const since = request.since && extract.reachedBack(request.since);
      const work = { request: { ...request, since }, extract, howFar, stop };
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
  readonly howFar: HowFar;
  readonly stop: AbortSignal;
}

async function writeCopy(work: Work, path: string): Promise<void> {
  await begin(path, Buffer.alloc(0)); // made by us, so that nobody else may read it
  const copy = new PublicCopy(path);
  try {
    for (const relation of work.request.relations) {
      const add = copy.add(stamped(relation));
      const counting = new Counting(work, relation, 'written');
      for (const rows of work.extract.parts(relation, work.request.since)) {
        add(withStamp(rows, work.request.exportedAt));
        await otherWork(); // a signal, say
        counting.add(rows.length);
      }
      copy.index(relation);
    }
  } finally {
    copy.close();
  }
}

async function writeFiles(work: Work, format: FileFormatName, output: string): Promise<void> {
  const { ledgerFile, layout, relations } = work.request;
  const pieces = new Pieces(ledgerFile, work.stop);
  const made: string[] = [];
  try {
    if (layout !== 'file') await mkdir(output, { mode: FOLDER_MODE });
    for (const relation of relations) {
      const { day } = extractionOf(relation.name);
      const name = `${relation.name}.${fileFormats[format].extension}`;
      const files = { relation, name, format, pieces, made };
      if (layout !== 'days' || day === undefined)
        await writeTable(work, files, layout === 'file' ? output : join(output, name));
      else await writeDays(work, files, day, join(output, relation.name));
    }
    for (const file of made) await stat(file); // a folder that lacks one of them would pass for a whole export
  } finally {
    await pieces.close();
  }
}

/** A table that is made into files of one name. */
interface Files {
  readonly relation: Relation;
  readonly name: string;
  readonly format: FileFormatName;
  readonly pieces: Pieces;
  /** Those that were begun so far, of all tables. */
  readonly made: string[];
}

async function writeTable(work: Work, files: Files, file: string): Promise<void> {
  const { relation, format, pieces } = files;
  const encoder = fileFormats[format].open(stamped(relation).columns, aboutOf(work, relation));
  await begin(file, encoder.begin());
  files.made.push(file);
  const counting = new Counting(work, relation, 'written');
  for await (const { made, rows } of pieces.of(stretchesOf(work, relation, { format }))) {
    await append(file, encoder.add(made));
    free(made);
    counting.add(rows);
  }
  await append(file, encoder.end());
}

/** Days come in any order, so that all rows are sorted by them before the first file can be whole. */
async function writeDays(work: Work, files: Files, day: string, folder: string): Promise<void> {
  const { relation, pieces } = files;
  const dayAt = relation.columns.findIndex(({ name }) => name === day);
  await mkdir(folder, { mode: FOLDER_MODE });
  const spill = new Spill(join(folder, '.spill'));
  try {
    const counting = new Counting(work, relation, 'sorted');
    for await (const { made, rows } of pieces.of(stretchesOf(work, relation, { dayAt }))) {
      spill.put(made);
      free(made);
      counting.add(rows);
    }
    await writeSorted(work, files, spill, folder);
  } finally {
    spill.close();
  }
}

async function writeSorted(
  work: Work,
  { relation, name, format, pieces, made: begun }: Files,
  { path, places }: Spill,
  folder: string,
): Promise<void> {
  const { exportedAt } = work.request;
  const wanted = places.entries().map(([day, ofDay]) => {
    const file = join(folder, `day=${day}`, name);
    return { relation: relation.name, exportedAt, spill: path, places: ofDay, format, file };
  });
  const counting = new Counting(work, relation, 'written');
  const about = aboutOf(work, relation);
  let open: { readonly file: string; readonly encoder: Encoder } | undefined;
  const end = async () => {
    if (open) await append(open.file, open.encoder.end());
  };
  for await (const {
    wanted: { file },
    made,
    rows,
  } of pieces.of(wanted)) {
    if (open?.file !== file) {
      await end();
      open = { file, encoder: fileFormats[format].open(stamped(relation).columns, about) };
      await mkdir(dirname(file), { mode: FOLDER_MODE });
      await begin(file, open.encoder.begin());
      begun.push(file);
    }
    await append(file, open.encoder.add(made));
    free(made);
    counting.add(rows);
  }
  await end();
}

/** What a file says about itself: a copy of a row that is as of a later time counts. */
function aboutOf({ extract, request: { exportedAt, since } }: Work, { name }: Relation): About {
  const { ledger, schema } = extract.origin();
  return {
    'leadsync.version': version,
    'leadsync.table': name,
    'leadsync.ledger': ledger,
    'leadsync.schema': String(schema),
    'leadsync.as_of': exportedAt.toISOString(),
    ...(since && { 'leadsync.since': since.toISOString() }),
  };
}

/** All of a relation, stretch by stretch. */
function* stretchesOf<Make>(
  { extract, request: { since, exportedAt } }: Work,
  relation: Relation,
  make: Make,
) {
  for (const stretch of extract.stretches(relation, since))
    yield { relation: relation.name, exportedAt, since, stretch, ...make };
}

/** Here so little else is allocated that the collector would leave many of them lying. */
function free({ bytes: { buffer } }: Piece | Sorted): void {
  if (buffer instanceof ArrayBuffer) buffer.transfer(0);
}

/** Says how far a table is. */
class Counting {
  readonly #say: (rows: number) => void;
  readonly #stop: AbortSignal;
  #rows = 0;

  constructor({ howFar, stop }: Work, { name }: Relation, done: 'sorted' | 'written') {
    this.#say = (rows) => howFar(name, rows, done);
    this.#stop = stop;
    this.#say(0);
  }

  /** Counts rows that are done. @throws the signal's reason */
  add(rows: number): void {
    this.#rows += rows;
    this.#say(this.#rows);
    this.#stop.throwIfAborted();
  }
}

/** Makes a file. */
async function begin(path: string, bytes: Buffer): Promise<void> {
  await writeFile(path, bytes, { mode: FILE_MODE, flag: 'wx' });
}

/** Adds to a file that was begun; one that was removed since is not made anew, for its beginning would be lost. */
async function append(path: string, bytes: Buffer): Promise<void> {
  await appendFile(path, bytes, { flag: constants.O_WRONLY | constants.O_APPEND });
}
