import type { HistoryRow, Overview } from '../leads/history.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Clock } from '../platform/clock.ts';
import { type Mirror, SinkUnavailable } from '../sinks/sink.ts';
import { mirrored } from '../store/mirrored.ts';
import type { Emit } from '../telemetry/events.ts';

/** Rows in one transaction: small enough that reading them stops nobody for long. */
const AT_ONCE = 500;
/** How many times as long as a part has taken nothing is done after it. */
const REST = 3;
/** How long nothing is tried after the destination did not work, in ms. */
const AFTER_FAILURE_MS = 30_000;

/** What one sink's mirror is brought from, and who is told of rows that it refuses. */
export interface MirrorParts {
  readonly sink: string;
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly emit: Emit;
  /** Whether it rests between its parts, for deliveries to come first. */
  readonly rests: boolean;
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
    await bringAll(mirror, parts, signal);
    return mirror.everyMs;
  } catch (error) {
    if (signal.aborted) return 0;
    if (!(error instanceof SinkUnavailable)) throw error;
    const { message: reason, hint } = error;
    parts.emit({ type: 'mirror-failed', sink: parts.sink, reason, hint });
    return Math.max(mirror.everyMs, AFTER_FAILURE_MS);
  }
}

/** Brings everything that is new, or may have changed, once. */
export async function bringAll(mirror: Mirror, parts: MirrorParts, signal: AbortSignal): Promise<void> {
  const { ledger } = parts;
  const { renamed } = await ledger.overview();
  const former = await mirror.formerNames(ledger.id, renamed, signal);
  for (const { name, columns } of mirrored) {
    const isAnew = former.length > 0 && columns.some((column) => column.name === 'sink');
    const known = isAnew ? 0 : await lastCommon(mirror, ledger, name, signal);
    await inParts(parts, signal, known, async (after) => {
      const rows = await ledger.historyAfter(name, after, AT_ONCE);
      await write(mirror, name, rows, parts, signal);
      return rows.at(-1)?.no;
    });
    await inParts(parts, signal, 0, async (after) => {
      const numbers = (await mirror.unsettled(name, { ledger: ledger.id, after, limit: AT_ONCE }, signal))
        // What is new has just been brought as it is.
        .filter((no) => no <= known);
      const rows = await ledger.historyNow(name, numbers);
      await write(mirror, name, rows, parts, signal);
      return rows.at(-1)?.no ?? numbers.at(-1);
    });
  }
  const overview = await ledger.overview();
  // A sink that was renamed meanwhile must not be there by its new name before what was brought of it: the next round sees to both.
  if (isSameRenamed(overview.renamed, renamed))
    await mirror.writeOverview(ledger.id, overview, former, signal);
}

/**
 * The number of the last row that both know, behind which it goes on. A disk that was set back has a ledger that knows less than it
 * has brought, and uses its numbers once more: what it brought and knows no longer stays there, as that of a ledger that was lost.
 */
async function lastCommon(
  mirror: Mirror,
  ledger: Ledger,
  name: string,
  signal: AbortSignal,
): Promise<number> {
  for (;;) {
    const last = await mirror.lastNumber(ledger.id, name, signal);
    if (last === 0) return 0;
    const [row] = await ledger.historyNow(name, [last]);
    if (row && (await mirror.has(ledger.id, name, row, signal))) return last;
    await mirror.disown(ledger.id, name, AT_ONCE, signal);
  }
}

function isSameRenamed(one: Overview['renamed'], other: Overview['renamed']): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** Takes one part after another until there is none; a part gives the number of its last row. */
async function inParts(
  { clock, rests }: MirrorParts,
  signal: AbortSignal,
  from: number,
  bring: (after: number) => Promise<number | undefined>,
): Promise<void> {
  let after: number | undefined = from;
  while (after !== undefined) {
    const startMs = clock.monotonicMs();
    after = await bring(after);
    if (after !== undefined && rests) await clock.sleep(REST * (clock.monotonicMs() - startMs), signal);
    signal.throwIfAborted();
  }
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
