import { leadContents, type Mirrored, mirrored } from '../../catalog/mirrored-tables.ts';
import { type HistoryRow, type Overview, rowsOf } from '../../leads/mirrored-history.ts';
import type { MirroredLedger } from '../../ledger/contract/mirrored-ledger.ts';
import { countOf } from '../../platform/text/human-readable.ts';
import type { Clock } from '../../platform/time/clock.ts';
import type { Mirror } from '../../sinks/mirror.ts';
import { SinkUnavailable } from '../../sinks/sink-unavailable.ts';
import type { Emit } from '../../telemetry/events.ts';

/** Maximum number of rows in one transaction. Few enough that reading them does not delay the ledger's other work for long. */
const ROWS_PER_PART = 1000;
/** Maximum number of parts of each table that one pass copies. */
const PARTS_PER_PASS = 2;
/** Ratio of rest to work: after each part, the mirror sleeps for this many times as long as the part took. */
const REST = 3;
/** Time for which a delivery that was discarded and then retried is still copied again after it has been settled, in ms: 30 days. */
const BROUGHT_BACK_MS = 30 * 24 * 3_600_000;
/** Minimum wait after the destination was unavailable, in ms. */
const AFTER_FAILURE_MS = 30_000;

/** What mirroring to one sink needs. */
export interface MirrorParts {
  readonly sink: string;
  readonly ledger: MirroredLedger;
  readonly clock: Clock;
  readonly emit: Emit;
  /** Whether the mirror sleeps between parts so that deliveries come first. */
  readonly isBackground: boolean;
}

/**
 * Keeps a mirror up to date until the signal aborts. The checkpoint is in the destination itself, so copying continues from the checkpoint
 * even after a process was killed. If `isBackground`, sleeps three times as long as each part took, so that deliveries come first.
 */
export async function mirrorLedger(mirror: Mirror, parts: MirrorParts, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const waitMs = await mirrorOnce(mirror, parts, signal);
    await parts.clock.sleep(waitMs, signal);
  }
}

/** Updates the mirror once. Reports an unavailable destination as an event. Returns the wait before the next update, in ms. */
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
 * Copies all rows that are new or may have changed, once. A long round goes through the tables in passes of a few parts each. Every pass
 * ends with the state of sinks and sources, so that a query during the round finds leads with their deliveries and a current state.
 */
export async function copyAll(mirror: Mirror, parts: MirrorParts, signal: AbortSignal): Promise<void> {
  const { ledger } = parts;
  const { renamed } = await ledger.overview();
  const former = await mirror.formerNames(ledger.id, renamed, signal);
  const round: Progress[] = [];
  for (const table of mirrored) {
    const isFull = former.length > 0 && table.columns.some((column) => column.name === 'sink');
    const known = isFull ? 0 : await lastCommon(mirror, ledger, table.name, signal);
    round.push({ table, known, reached: known, ended: false });
  }
  for (let first = true, ended = false; !ended; first = false) {
    for (const progress of round) {
      await copyNew(mirror, progress, parts, signal);
      const { table, known, reached } = progress;
      // Rows copied in this round are already current.
      if (first) await copyUnsettled(mirror, table.name, known, parts, signal);
      if (first && table.name === 'deliveries') await copyBroughtBack(mirror, known, parts, signal);
      if (!first && table.fewUnsettled) await copyUnsettled(mirror, table.name, reached, parts, signal);
    }
    ended = round.every((progress) => progress.ended);
    const overview = await ledger.overview();
    // Write a renamed sink's new name only after its rows were copied again. A sink that was renamed during this round waits for the
    // next round.
    if ((former.length === 0 || ended) && isSameRenamed(overview.renamed, renamed))
      await mirror.writeOverview(ledger.id, overview, former, signal);
  }
}

/** Progress of a round in one table. */
interface Progress {
  readonly table: Mirrored;
  /** Rows up to this number were in the mirror before the round. */
  readonly known: number;
  /** Rows up to this number are in the mirror now. */
  reached: number;
  /** Whether the round has reached the end of the table. */
  ended: boolean;
}

/** Copies the next parts of new rows of a table. Reads each part while the destination writes the previous one. */
async function copyNew(
  mirror: Mirror,
  progress: Progress,
  parts: MirrorParts,
  signal: AbortSignal,
): Promise<void> {
  if (progress.ended) return;
  const { name } = progress.table;
  let reading = readNew(parts.ledger, name, progress.reached);
  for (let left = PARTS_PER_PASS; left > 0 && !progress.ended; left -= 1)
    await withDutyCycle(parts, signal, async () => {
      const rows = await reading;
      const last = rows.at(-1)?.no;
      progress.ended = last === undefined;
      if (last === undefined) return;
      if (left > 1) reading = readNew(parts.ledger, name, last);
      reading.catch(() => undefined); // the next part awaits it and handles the rejection
      if (name === 'lead_versions') await copyContents(mirror, rows, parts, signal);
      await write(mirror, name, rows, parts, signal);
      progress.reached = last;
    });
}

async function readNew(ledger: MirroredLedger, table: string, after: number): Promise<HistoryRow[]> {
  return rowsOf(await ledger.historyAfter(table, after, ROWS_PER_PART));
}

/**
 * Copies the lead content that the destination lacks. The destination already has most of the content from the deliveries. Runs before the
 * versions are written, so that no version is there without its content.
 */
async function copyContents(
  mirror: Mirror,
  versions: readonly HistoryRow[],
  parts: MirrorParts,
  signal: AbortSignal,
): Promise<void> {
  if (versions.length === 0) return;
  let missing = await mirror.missingContents(versions, signal);
  while (missing.length > 0) {
    const contents = rowsOf(await parts.ledger.historyNow(leadContents.name, missing));
    await write(mirror, leadContents.name, contents, parts, signal);
    const last = contents.at(-1)?.no ?? Number.POSITIVE_INFINITY;
    missing = missing.filter((no) => no > last);
  }
}

/** Copies again the rows of a table, up to number `upTo`, that may have changed since they were copied. */
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
 * Copies again the deliveries, up to number `upTo`, that were discarded and then retried. The mirror recorded them as settled when they
 * were discarded.
 */
async function copyBroughtBack(
  mirror: Mirror,
  upTo: number,
  parts: MirrorParts,
  signal: AbortSignal,
): Promise<void> {
  const { ledger, clock } = parts;
  const since = new Date(clock.now().getTime() - BROUGHT_BACK_MS);
  for (let after: number | undefined = 0; after !== undefined; )
    await withDutyCycle(parts, signal, async () => {
      const found = await ledger.broughtBack(after ?? 0, since, ROWS_PER_PART);
      const numbers = found.filter((no) => no <= upTo);
      const rows = rowsOf(await ledger.historyNow('deliveries', numbers));
      await write(mirror, 'deliveries', rows, parts, signal);
      after = rows.at(-1)?.no;
    });
}

/**
 * Returns the number of the last row that ledger and mirror have in common: copying continues after that row. After a rollback of the disk,
 * the mirror holds rows that the ledger no longer has and whose numbers it assigns again. Marks those rows in the mirror as rows of a lost
 * ledger.
 */
async function lastCommon(
  mirror: Mirror,
  ledger: MirroredLedger,
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

/**
 * Calls `bring` to copy one part. If the mirror runs in the background, sleeps afterwards for `REST` times as long as the copying took.
 * @throws the reason of `signal` if it has aborted
 */
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
  const reason = `${countOf(refused, 'row')} of ${table} ${refused === 1 ? 'was' : 'were'} refused and left out.`;
  emit({ type: 'mirror-failed', sink, reason, hint: 'See the log of the PostgreSQL server.' });
}
