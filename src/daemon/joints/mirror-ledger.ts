import { leadContents, type Mirrored, mirrored } from '../../catalog/mirrored.ts';
import { type HistoryRow, type Overview, rowsOf } from '../../leads/history.ts';
import type { LedgerQueries } from '../../ledger/contract/ledger-queries.ts';
import type { LedgerUpkeep } from '../../ledger/contract/ledger-upkeep.ts';
import type { Clock } from '../../platform/time/clock.ts';
import { type Mirror, SinkUnavailable } from '../../sinks/sink.ts';
import type { Emit } from '../../telemetry/events.ts';

/** Rows in one transaction: small enough that reading them stops nobody for long. */
const ROWS_PER_PART = 1000;
/** How many parts of each table a pass brings. */
const PARTS_PER_PASS = 2;
/** Duty cycle: after each part, the mirror sleeps this many times as long as the part took. */
const REST = 3;
/** How long nothing is tried after the destination did not work, in ms. */
const AFTER_FAILURE_MS = 30_000;

/** What one sink's mirror is brought from, and who is told of rows that it refuses. */
export interface MirrorParts {
  readonly sink: string;
  readonly ledger: LedgerQueries & Pick<LedgerUpkeep, 'id'>;
  readonly clock: Clock;
  readonly emit: Emit;
  /** Whether the mirror sleeps between parts so that deliveries come first. */
  readonly isBackground: boolean;
}

/**
 * Brings to a destination what the ledger knows beside the leads, again and again. How far it has come is in the destination
 * itself, so it goes on where it was, whatever was killed in between. Rests three times as long as each part took: deliveries come first.
 */
export async function mirrorLedger(mirror: Mirror, parts: MirrorParts, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const waitMs = await mirrorOnce(mirror, parts, signal);
    await parts.clock.sleep(waitMs, signal);
  }
}

/** Does so once. A destination that does not work is told as an event. Gives how long to wait before the next time, in ms. */
export async function mirrorOnce(mirror: Mirror, parts: MirrorParts, signal: AbortSignal): Promise<number> {
  try {
    await copyAll(mirror, parts, signal);
    return mirror.everyMs;
  } catch (error) {
    if (signal.aborted) return 0;
    if (!(error instanceof SinkUnavailable)) throw error;
    const { message: reason, hint } = error;
    parts.emit({ type: 'mirror-failed', sink: parts.sink, reason, hint });
    return Math.max(mirror.everyMs, AFTER_FAILURE_MS);
  }
}

/**
 * Brings everything that is new, or may have changed, once. A long round goes through the tables in passes, a few parts of each,
 * and ends every pass with how sinks and sources are: whoever asks meanwhile finds leads with their deliveries, and no pipe that
 * looks dead.
 */
export async function copyAll(mirror: Mirror, parts: MirrorParts, signal: AbortSignal): Promise<void> {
  const { ledger } = parts;
  const { renamed } = await ledger.overview();
  const former = await mirror.formerNames(ledger.id, renamed, signal);
  const round: Progress[] = [];
  for (const table of mirrored) {
    const isAnew = former.length > 0 && table.columns.some((column) => column.name === 'sink');
    const known = isAnew ? 0 : await lastCommon(mirror, ledger, table.name, signal);
    round.push({ table, known, reached: known, ended: false });
  }
  for (let first = true, ended = false; !ended; first = false) {
    for (const progress of round) {
      await copyNew(mirror, progress, parts, signal);
      const { table, known, reached } = progress;
      // What is new has just been brought as it is.
      if (first) await copyUnsettled(mirror, table.name, known, parts, signal);
      else if (table.fewUnsettled) await copyUnsettled(mirror, table.name, reached, parts, signal);
    }
    ended = round.every((progress) => progress.ended);
    const overview = await ledger.overview();
    // A renamed sink must not be there by its new name before all that was brought of it; nor may one that was renamed
    // since the round began: the next round sees to that one.
    if ((former.length === 0 || ended) && isSameRenamed(overview.renamed, renamed))
      await mirror.writeOverview(ledger.id, overview, former, signal);
  }
}

/** How far a round has come with a table. */
interface Progress {
  readonly table: Mirrored;
  /** Rows up to this number were there before the round. */
  readonly known: number;
  /** Rows up to this number are there now. */
  reached: number;
  /** Whether the round has seen the end of the table. */
  ended: boolean;
}

/** Brings the next parts of what is new in a table; while the destination writes one, the next is read. */
async function copyNew(
  mirror: Mirror,
  progress: Progress,
  parts: MirrorParts,
  signal: AbortSignal,
): Promise<void> {
  const { name } = progress.table;
  let reading = readNew(parts.ledger, name, progress.reached);
  for (let left = PARTS_PER_PASS; left > 0 && !progress.ended; left -= 1)
    await withDutyCycle(parts, signal, async () => {
      const rows = await reading;
      const last = rows.at(-1)?.no;
      progress.ended = last === undefined;
      if (last === undefined) return;
      if (left > 1) reading = readNew(parts.ledger, name, last);
      reading.catch(() => undefined); // whoever waits for it is told
      if (name === 'lead_versions') await copyContents(mirror, rows, parts, signal);
      await write(mirror, name, rows, parts, signal);
      progress.reached = last;
    });
}

async function readNew(ledger: LedgerQueries, table: string, after: number): Promise<HistoryRow[]> {
  return rowsOf(await ledger.historyAfter(table, after, ROWS_PER_PART));
}

/** Brings the contents of versions that the destination does not have: most came with their leads. Before the versions, so that none is there without. */
async function copyContents(
  mirror: Mirror,
  versions: readonly HistoryRow[],
  parts: MirrorParts,
  signal: AbortSignal,
): Promise<void> {
  if (versions.length === 0) return;
  let lacking = await mirror.missingContents(versions, signal);
  while (lacking.length > 0) {
    const contents = rowsOf(await parts.ledger.historyNow(leadContents.name, lacking));
    await write(mirror, leadContents.name, contents, parts, signal);
    const last = contents.at(-1)?.no ?? Number.POSITIVE_INFINITY;
    lacking = lacking.filter((no) => no > last);
  }
}

/** Brings, as they are now, the rows of a table up to that number that may have changed since they were brought. */
async function copyUnsettled(
  mirror: Mirror,
  name: string,
  upTo: number,
  parts: MirrorParts,
  signal: AbortSignal,
): Promise<void> {
  const { ledger } = parts;
  for (let after: number | undefined = 0; after !== undefined; )
    await withDutyCycle(parts, signal, async () => {
      const part = { ledger: ledger.id, after: after ?? 0, limit: ROWS_PER_PART };
      const numbers = (await mirror.unsettled(name, part, signal)).filter((no) => no <= upTo);
      const rows = rowsOf(await ledger.historyNow(name, numbers));
      await write(mirror, name, rows, parts, signal);
      after = rows.at(-1)?.no ?? numbers.at(-1);
    });
}

/**
 * The number of the last row that both know, behind which it goes on. A disk that was set back has a ledger that knows less than it
 * has brought, and uses its numbers once more: what it brought and knows no longer stays there, as that of a ledger that was lost.
 */
async function lastCommon(
  mirror: Mirror,
  ledger: MirrorParts['ledger'],
  name: string,
  signal: AbortSignal,
): Promise<number> {
  for (;;) {
    const last = await mirror.lastNumber(ledger.id, name, signal);
    if (last === 0) return 0;
    const [row] = rowsOf(await ledger.historyNow(name, [last]));
    if (row && (await mirror.has(ledger.id, name, row, signal))) return last;
    await mirror.markLost(ledger.id, name, ROWS_PER_PART, signal);
  }
}

function isSameRenamed(one: Overview['renamed'], other: Overview['renamed']): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** Copies one part, then sleeps in proportion if the mirror runs in the background. */
async function withDutyCycle(
  { clock, isBackground }: MirrorParts,
  signal: AbortSignal,
  bring: () => Promise<void>,
): Promise<void> {
  const startMs = clock.monotonicMs();
  await bring();
  if (isBackground) await clock.sleep(REST * (clock.monotonicMs() - startMs), signal);
  signal.throwIfAborted();
}

async function write(
  mirror: Mirror,
  table: string,
  rows: readonly HistoryRow[],
  { sink, ledger, emit }: MirrorParts,
  signal: AbortSignal,
): Promise<void> {
  if (rows.length === 0) return;
  const refused = await mirror.write(ledger.id, table, rows, signal);
  if (refused === 0) return;
  const reason = `${refused} rows of ${table} were refused, and left out.`;
  emit({ type: 'mirror-failed', sink, reason, hint: "See the server's log." });
}
