import { constants } from 'node:fs';
import { appendFile, mkdir, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setImmediate as otherWork } from 'node:timers/promises';
import { extractionOf } from '../../catalog/extraction.ts';
import type { Relation } from '../../catalog/relation.ts';
import type { LedgerTables, TablesPlace } from '../../ledger/contract/ledger-tables.ts';
import { PublicCopy } from '../../ledger/extraction/public-copy.ts';
import { writeAtomically } from '../../platform/files/write-atomically.ts';
import { version } from '../../platform/process/version.ts';
import type { ExportFormat } from '../contract/format-names.ts';
import { withExportedAt, withExportedAtColumn } from './exported-at-column.ts';
import { type About, type Encoder, type FileFormatName, fileFormats, type Piece } from './file-formats.ts';
import { openTables } from './open-tables.ts';
import { type Sorted, Spill } from './spill-file.ts';
import { EncodingThreads } from './start-encoding-threads.ts';

/** Which tables to export, and how. */
export interface ExportRequest {
  readonly ledger: TablesPlace;
  /** Path of the file or folder, which must not exist. */
  readonly output: string;
  readonly format: ExportFormat;
  readonly relations: readonly Relation[];
  /**
   * `file`: one file, with one table or, in the format `sqlite`, with all of them. `folder`: a folder with a file for each table. `days`:
   * the same, except that a table whose rows belong to days becomes a folder with a file for each day.
   */
  readonly layout: 'file' | 'folder' | 'days';
  /**
   * Export rows that were added or changed from this time on; undefined for all. As a function, gets the present time by the clock of the ledger's
   * server, or undefined if the ledger is in a file.
   */
  readonly since: Date | undefined | ((serverNow: Date | undefined) => Date | undefined);
  /** The time of this export, which every row contains. */
  readonly exportedAt: Date;
}

/**
 * Reports progress: how many rows of a table the export has written so far. With the layout `days`, the export first sorts all rows of a
 * table by day, and reports them as `sorted`.
 */
export type ReportProgress = (table: string, rows: number, done: 'sorted' | 'written') => void;

/** The files contain personal data, so only this user may read them. */
const [FILE_MODE, FOLDER_MODE] = [0o600, 0o700];

/**
 * Exports tables of a ledger to files, completely or not at all. Keeps only a part of the rows in memory. The daemon may run meanwhile. Returns the time at
 * which the export began to read, by the clock of the ledger's server; undefined if the ledger is in a file.
 * @throws PathExists, TemporaryRemoved, LedgerError, the error from Node if the disk fails, the signal's reason
 */
export async function exportTables(
  request: ExportRequest,
  reportProgress: ReportProgress,
  stop: AbortSignal,
): Promise<Date | undefined> {
  const tables = await openTables(request.ledger);
  try {
    const serverNow = await tables.serverNow();
    await writeAtomically(request.output, async (temporary) => {
      const from = typeof request.since === 'function' ? request.since(serverNow) : request.since;
      const since = from && (await tables.reachedBack(from));
      const work = { request: { ...request, since }, tables, reportProgress, stop };
      if (request.format === 'sqlite') await writeCopy(work, temporary);
      else await writeFiles(work, request.format, temporary);
    });
    return serverNow;
  } finally {
    await tables.close();
  }
}

interface Work {
  readonly request: ExportRequest & { readonly since: Date | undefined };
  readonly tables: LedgerTables;
  readonly reportProgress: ReportProgress;
  readonly stop: AbortSignal;
}

async function writeCopy(work: Work, path: string): Promise<void> {
  await begin(path, Buffer.alloc(0)); // created here, so that it has our file mode
  const copy = new PublicCopy(path);
  try {
    for (const relation of work.request.relations) {
      const add = copy.add(withExportedAtColumn(relation));
      const counting = new Counting(work, relation, 'written');
      for await (const rows of work.tables.parts(relation, work.request.since)) {
        add(withExportedAt(rows, work.request.exportedAt));
        await otherWork(); // for example, handling a signal
        counting.add(rows.length);
      }
      copy.index(relation);
    }
  } finally {
    copy.close();
  }
}

async function writeFiles(work: Work, format: FileFormatName, output: string): Promise<void> {
  const { layout, relations } = work.request;
  const pieces = new EncodingThreads(work.tables.shared, work.stop);
  const created: string[] = [];
  try {
    if (layout !== 'file') await mkdir(output, { mode: FOLDER_MODE });
    for (const relation of relations) {
      const { day } = extractionOf(relation.name);
      const name = `${relation.name}.${fileFormats[format].extension}`;
      const files = { relation, name, format, pieces, created };
      if (layout !== 'days' || day === undefined)
        await writeTable(work, files, layout === 'file' ? output : join(output, name));
      else await writeDays(work, files, day, join(output, relation.name));
    }
    for (const file of created) await stat(file); // a folder without one of its files would look like a complete export
  } finally {
    await pieces.close();
  }
}

/** A table and the files that it is written to. */
interface Files {
  readonly relation: Relation;
  readonly name: string;
  readonly format: FileFormatName;
  readonly pieces: EncodingThreads;
  /** Paths of the files created so far, of all tables. */
  readonly created: string[];
}

async function writeTable(work: Work, files: Files, file: string): Promise<void> {
  const { relation, format, pieces } = files;
  const encoder = fileFormats[format].open(
    withExportedAtColumn(relation).columns,
    await aboutOf(work, relation),
  );
  await begin(file, encoder.begin());
  files.created.push(file);
  const counting = new Counting(work, relation, 'written');
  for await (const { result, rows } of pieces.of(stretchesOf(work, relation, { format }))) {
    await append(file, encoder.add(result));
    free(result);
    counting.add(rows);
  }
  await append(file, encoder.end());
}

/** Sorts all rows by day first, because the ledger does not return them in order of days. */
async function writeDays(work: Work, files: Files, day: string, folder: string): Promise<void> {
  const { relation, pieces } = files;
  const dayAt = relation.columns.findIndex(({ name }) => name === day);
  await mkdir(folder, { mode: FOLDER_MODE });
  const spill = new Spill(join(folder, '.spill'));
  try {
    const counting = new Counting(work, relation, 'sorted');
    for await (const { result, rows } of pieces.of(stretchesOf(work, relation, { dayAt }))) {
      spill.put(result);
      free(result);
      counting.add(rows);
    }
    await writeSorted(work, files, spill, folder);
  } finally {
    spill.close();
  }
}

async function writeSorted(
  work: Work,
  { relation, name, format, pieces, created }: Files,
  { path, places }: Spill,
  folder: string,
): Promise<void> {
  const { exportedAt } = work.request;
  const requests = places.entries().map(([day, ofDay]) => {
    const file = join(folder, `day=${day}`, name);
    return { relation: relation.name, exportedAt, spill: path, places: ofDay, format, file };
  });
  const counting = new Counting(work, relation, 'written');
  const about = await aboutOf(work, relation);
  let open: { readonly file: string; readonly encoder: Encoder } | undefined;
  const end = async () => {
    if (open) await append(open.file, open.encoder.end());
  };
  for await (const { request, result, rows } of pieces.of(requests)) {
    const { file } = request;
    if (open?.file !== file) {
      await end();
      open = { file, encoder: fileFormats[format].open(withExportedAtColumn(relation).columns, about) };
      await mkdir(dirname(file), { mode: FOLDER_MODE });
      await begin(file, open.encoder.begin());
      created.push(file);
    }
    await append(file, open.encoder.add(result));
    free(result);
    counting.add(rows);
  }
  await end();
}

/** Returns the metadata of a file. Of several copies of a row, the one with the latest `leadsync.as_of` counts. */
async function aboutOf({ tables, request: { exportedAt, since } }: Work, { name }: Relation): Promise<About> {
  const { ledger, schema } = await tables.origin();
  return {
    'leadsync.version': version,
    'leadsync.table': name,
    'leadsync.ledger': ledger,
    'leadsync.schema': String(schema),
    'leadsync.as_of': exportedAt.toISOString(),
    ...(since && { 'leadsync.since': since.toISOString() }),
  };
}

/** Yields a request for each stretch (a range of keys) of a relation. */
async function* stretchesOf<Make>(
  { tables, request: { since, exportedAt } }: Work,
  relation: Relation,
  make: Make,
) {
  for await (const stretch of tables.stretches(relation, since))
    yield { relation: relation.name, exportedAt, since, stretch, ...make };
}

/** Frees a buffer immediately, because this thread allocates too little for the garbage collector to run soon. */
function free({ bytes: { buffer } }: Piece | Sorted): void {
  if (buffer instanceof ArrayBuffer) buffer.transfer(0);
}

/** Counts the rows of a table and reports progress. */
class Counting {
  readonly #say: (rows: number) => void;
  readonly #stop: AbortSignal;
  #rows = 0;

  constructor({ reportProgress, stop }: Work, { name }: Relation, done: 'sorted' | 'written') {
    this.#say = (rows) => reportProgress(name, rows, done);
    this.#stop = stop;
    this.#say(0);
  }

  /** Adds rows to the count. @throws the signal's reason */
  add(rows: number): void {
    this.#rows += rows;
    this.#say(this.#rows);
    this.#stop.throwIfAborted();
  }
}

/** Creates a file. */
async function begin(path: string, bytes: Buffer): Promise<void> {
  await writeFile(path, bytes, { mode: FILE_MODE, flag: 'wx' });
}

/** Appends to an existing file. Fails if the file was removed in the meantime, because a new file would lack the beginning. */
async function append(path: string, bytes: Buffer): Promise<void> {
  await appendFile(path, bytes, { flag: constants.O_WRONLY | constants.O_APPEND });
}
