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
import type { TakenOver } from '../../source/auth/take-over-tokens.ts';
import { ledgerPlaceOf } from '../opening/configured-ledger.ts';
import { FilePlace } from '../opening/file-place.ts';
import type { LedgerPlace } from '../opening/ledger-place.ts';
import { DataDirInUse, holdDataDir } from '../opening/open-ledger.ts';
import { hasLiveProcess } from '../opening/processes.ts';
import { moveStores } from '../opening/take-over-stores.ts';

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
  /** The sources whose logins were moved with the ledger, and those that have another login in `data_dir`. */
  readonly logins: TakenOver;
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
 * the source as moved, and only then makes the copy a ledger: whenever the process dies, at most one of the two lets a process deliver. A source on which another
 * machine could begin to work is marked before it is read, too.
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
    return await copy({ from, to }, request.dryRun, parts);
  } catch (error) {
    // A ledger reports as its own error what ends the reading of its rows.
    throw parts.signal.aborted ? parts.signal.reason : error;
  } finally {
    held.release();
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
  const source = await from.copySource();
  try {
    const isContinued = await to.inspectTarget(source.id);
    const moved = await source.movedTo();
    if (moved && !isContinued) throw movedError(from.where, moved.to, moved.at);
    const result = { from: from.where, to: to.where, isContinued };
    if (dryRun) return { ...result, tables: await countRows(source), logins: { sources: [], left: [] } };
    return { ...result, ...(await copyInto(await to.copyTarget(source.id), source, places, parts)) };
  } finally {
    await source.close();
  }
}

async function countRows(source: CopySource): Promise<CopiedLedger['tables']> {
  const tables: Record<string, number> = {};
  for (const table of COPIED_TABLES) tables[table.inSqlite] = await source.count(table);
  return tables;
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

/**
 * Moves what a server has beside the ledger into `data_dir`. In the other direction, the first start on the server does that, because it may find there what
 * other machines have stored.
 */
async function moveBeside({ from, to }: Places, { clock, random }: CopyParts): Promise<TakenOver> {
  if (from.file !== undefined) return { sources: [], left: [] };
  const stores = await from.openStores({ clock, rotates: false });
  const files = await to.openStores({ clock, rotates: false });
  try {
    return await moveStores(stores, files, { clock, random });
  } finally {
    await stores.close();
    await files.close();
  }
}

/** Copies into a target that was begun, and returns the number of rows of each table, and whose logins were moved. */
async function copyInto(
  target: CopyTarget,
  source: CopySource,
  places: Places,
  parts: CopyParts,
): Promise<Pick<CopiedLedger, 'tables' | 'logins'>> {
  const { from, to } = places;
  const mark = () => source.markMoved({ to: to.where, at: parts.clock.now().getTime() });
  try {
    // Only once the target is begun: the same command then continues the copy, whatever happens.
    if (source.isShared) await mark();
    await settle(from, parts);
    const tables = await countRows(source);
    await copyRows(source, target, tables, parts);
    parts.onCompare?.();
    await compare(source, target, parts.signal);
    // Again, because an operator may have taken the mark away meanwhile.
    await mark();
    reach('copy-moved');
    const logins = await moveBeside(places, parts);
    await target.finish(await source.facts());
    reach('copy-finished');
    return { tables, logins };
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

async function compare(source: CopySource, target: CopyTarget, signal: AbortSignal): Promise<void> {
  for (const table of COPIED_TABLES) {
    signal.throwIfAborted();
    const [one, other] = [await source.digest(table), await target.digest(table)];
    if (one.rows === other.rows && one.sum === other.sum) continue;
    const counts = `${one.rows} rows there, ${other.rows} in the copy`;
    throw new CopyFailed(
      `The copy differs from the ledger in the table ${table.inSqlite} (${counts}), and is not used.`,
      `Remove the unfinished copy${source.isShared ? ', give `leadsync ledger accept`' : ''}, then copy again. If leadsync has not run on the old ledger since the copy began, please report it.`,
    );
  }
}
