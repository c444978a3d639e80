import { randomUUID } from 'node:crypto';
import type { LedgerConfig } from '../../config/contract/config.ts';
import { DEFAULT_RETRY } from '../../config/options/sink-options.ts';
import { judgeBy } from '../../delivery/judge.ts';
import { movedError } from '../../ledger/contract/copy-errors.ts';
import type { CopySource, CopyTarget } from '../../ledger/contract/ledger-copy.ts';
import { LedgerError } from '../../ledger/contract/ledger-error.ts';
import { COPIED_TABLES } from '../../ledger/rules/copying/copied-tables.ts';
import { progressAfter } from '../../ledger/rules/copying/progress.ts';
import { reach } from '../../platform/process/failpoint.ts';
import type { Clock, Random } from '../../platform/time/clock.ts';
import { ledgerPlaceOf } from '../opening/configured-ledger.ts';
import { FilePlace } from '../opening/file-place.ts';
import type { LedgerPlace } from '../opening/ledger-place.ts';
import { DataDirInUse, holdDataDir } from '../opening/open-ledger.ts';
import { hasLiveProcess, processesOf } from '../opening/processes.ts';

/** The engine of a ledger, as people name it. */
export type Engine = 'sqlite' | 'postgres';

/** What to copy. With `dryRun`, everything is checked that can be, and nothing is changed. */
export interface CopyRequest {
  readonly from: Engine;
  readonly dryRun: boolean;
}

/** What `copyLedger` works with. `signal` stops it between two parts of a table. */
export interface CopyParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
  /** Receives the table, the number of its rows that are copied, and the share of all rows that are, from 0 to 1. */
  readonly onProgress?: (table: string, rows: number, share: number) => void;
  /** Is called when all rows are copied, before they are compared. */
  readonly onCompare?: () => void;
}

/** The result of a copy. */
export interface CopiedLedger {
  /** The places of both, after "in". */
  readonly from: string;
  readonly to: string;
  /** Whether an earlier copy was continued. */
  readonly isContinued: boolean;
  /** The number of rows of each table of the source. */
  readonly tables: Readonly<Record<string, number>>;
}

/** The copy cannot be made, or its comparison with the source has failed. */
export class CopyFailed extends Error {
  override readonly name = 'CopyFailed';
  /** The next step for the operator. */
  readonly hint: string;

  constructor(message: string, hint: string) {
    super(message);
    this.hint = hint;
  }
}

/**
 * Copies the ledger in `data_dir` to the configured server, or back. If an earlier copy of the same ledger was not finished, continues it. Compares both, marks
 * the source as moved, and only then makes the copy a ledger: whenever the process dies, at most one of the two lets a process deliver.
 * @throws CopyFailed, DataDirInUse, DataDirUnusable, LedgerError, or the signal's reason
 */
export async function copyLedger(
  config: LedgerConfig,
  request: CopyRequest,
  parts: CopyParts,
): Promise<CopiedLedger> {
  const { dataDir } = config;
  if (!config.ledgerServer)
    throw new CopyFailed(
      'The configuration names no server for the ledger.',
      'Set ledger.url to the database. The ledger in a file is the one in data_dir.',
    );
  const [file, server] = [new FilePlace(dataDir), ledgerPlaceOf(config)];
  const [from, to] = request.from === 'sqlite' ? [file, server] : [server, file];
  const held = holdDataDir(dataDir);
  try {
    if (hasLiveProcess(dataDir)) throw new DataDirInUse(`A worker uses the data directory ${dataDir}.`);
    return await whileHeld(from, dataDir, parts, (signal) =>
      copy({ from, to }, request.dryRun, { ...parts, signal }),
    );
  } finally {
    held.release();
  }
}

/** Runs `work` while this process holds the ledger, and makes sure that `work` ends if it loses the ledger. */
async function whileHeld<T>(
  place: LedgerPlace,
  dataDir: string,
  { clock, signal }: CopyParts,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const processes = processesOf(dataDir);
  const holder = `copy-${randomUUID()}`;
  const self = await processes.join(holder);
  try {
    const isDead = (other: string) => processes.isDead(other);
    const held = await place.hold({ clock, holder, isDead });
    const lost = new AbortController();
    void held.lost.then((other) =>
      lost.abort(
        new CopyFailed(`Another leadsync has taken the ledger over: ${other}.`, 'Stop it, then copy again.'),
      ),
    );
    const stop = AbortSignal.any([signal, lost.signal]);
    try {
      return await work(stop);
    } catch (error) {
      throw stop.aborted ? stop.reason : error;
    } finally {
      await held.release();
    }
  } finally {
    self.release();
  }
}

interface Places {
  readonly from: LedgerPlace;
  readonly to: LedgerPlace;
}

async function copy(places: Places, dryRun: boolean, parts: CopyParts): Promise<CopiedLedger> {
  const { from, to } = places;
  if (await from.isMissing())
    throw new LedgerError(
      'missing',
      `There is no ledger in ${from.where}.`,
      'Check data_dir, ledger.url and --from.',
    );
  if (!dryRun) await settle(from, parts);
  const source = await from.copySource();
  try {
    const isContinued = await to.inspectTarget(source.id);
    const moved = await source.movedTo();
    if (moved && !isContinued) throw movedError(from.where, moved.to, moved.at);
    const tables: Record<string, number> = {};
    for (const table of COPIED_TABLES) tables[table.inSqlite] = await source.count(table);
    const result = { from: from.where, to: to.where, isContinued, tables };
    if (!dryRun) await copyInto(await to.copyTarget(source.id), source, places, result, parts);
    return result;
  } finally {
    await source.close();
  }
}

/** Lets a ledger do what it does when it is idle, so that nothing is half done: a server's counts and times are then where a copy expects them. */
async function settle(place: LedgerPlace, { clock, random }: CopyParts): Promise<void> {
  if (place.file !== undefined) return;
  const judge = judgeBy(() => DEFAULT_RETRY, random);
  const ledger = await place.open({ clock, random, judge, create: false });
  try {
    await ledger.checkpointLog();
  } finally {
    await ledger.close();
  }
}

async function copyInto(
  target: CopyTarget,
  source: CopySource,
  { to }: Places,
  { tables, isContinued }: CopiedLedger,
  parts: CopyParts,
): Promise<void> {
  try {
    await copyRows(source, target, tables, parts);
    parts.onCompare?.();
    await compare(source, target, isContinued, parts.signal);
    await source.markMoved({ to: to.where, at: parts.clock.now().getTime() });
    reach('copy-moved');
    await target.finish(await source.facts());
    reach('copy-finished');
  } finally {
    await target.close();
  }
}

async function copyRows(
  source: CopySource,
  target: CopyTarget,
  counts: CopiedLedger['tables'],
  { signal, onProgress }: CopyParts,
): Promise<void> {
  const all = Object.values(counts).reduce((sum, count) => sum + count, 0);
  let before = 0;
  for (const table of COPIED_TABLES) {
    let progress = await target.progress(table);
    await source.each(table, progress.after, async (rows) => {
      signal.throwIfAborted();
      const next = progressAfter(table, progress, rows);
      await target.add(table, rows, progress, next);
      progress = next;
      onProgress?.(table.inSqlite, progress.rows, Math.min(1, (before + progress.rows) / all));
      reach('copy-part');
    });
    before += progress.rows;
  }
}

async function compare(
  source: CopySource,
  target: CopyTarget,
  isContinued: boolean,
  signal: AbortSignal,
): Promise<void> {
  for (const table of COPIED_TABLES) {
    signal.throwIfAborted();
    const [one, other] = [await source.digest(table), await target.digest(table)];
    if (one.rows === other.rows && one.sum === other.sum) continue;
    const counts = `${one.rows} rows there, ${other.rows} in the copy`;
    throw new CopyFailed(
      `The copy differs from the ledger in the table ${table.inSqlite} (${counts}), and is not used.`,
      isContinued
        ? 'If leadsync has run on the old ledger since the copy began, remove the unfinished copy, then copy again.'
        : 'Remove the unfinished copy, then copy again. If the copy differs again, please report it.',
    );
  }
}
