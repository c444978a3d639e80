import type { Delivered, Outcome, Refused } from '../../leads/outcome.ts';
import { REFUSALS_BEFORE_HOLD } from '../../leads/sink-health.ts';
import { attemptParts } from '../attempt-parts.ts';
import type { AttemptUnderWay, SinkUnavailable } from '../sink.ts';
import type { FailedRun } from './judge-run.ts';

/** How leads are tried in parts after all of them together failed. */
interface Search {
  readonly under: AttemptUnderWay;
  /** Maximum time of one run, in ms. */
  readonly partMs: number;
  /** A number from 0 up to 1 that differs between attempts: where the leads are that are tried alone. */
  readonly offset: number;
  /** Returns the outcome of a lead that the program does not take while it takes others. */
  readonly refused: (run: FailedRun) => Refused;
  /** Returns the error if the program takes none. */
  readonly unavailable: (run: FailedRun) => SinkUnavailable;
}

/**
 * Finds the leads that a program does not take, after it failed for all items together. Returns one outcome per item, in order.
 *
 * An exit code does not say whether a lead or the program is at fault. So a few items are tried alone first, spread over the batch. If the
 * program takes none of them, it counts as broken: nothing is refused, and the cost is a few starts however large the batch is. If it takes
 * one, it works, and halving finds the items that it does not take. An item is refused if it failed alone and the program took another one
 * in the same attempt, or if the program itself blames the lead.
 * @throws SinkUnavailable if the program took none of the items and blamed none of them
 */
export async function findRefused<Item>(
  items: readonly Item[],
  failed: FailedRun,
  attempt: (part: readonly Item[]) => Promise<FailedRun | undefined>,
  { under, partMs, offset, refused, unavailable }: Search,
): Promise<Outcome[]> {
  if (items.length === 1 && !failed.blamesLead) throw unavailable(failed);
  if (items.length === 1) return [refused(failed)];
  const order = probesFirst(items.length, offset);
  const parts = order.map((part) => part.map((at) => items[at] as Item));
  const runs = new Map<Refused, FailedRun>();
  let last = failed;
  const tried = await attemptParts(
    parts,
    async (part): Promise<Delivered | Refused> => {
      const run = await attempt(part);
      if (!run) return { kind: 'delivered' };
      last = run;
      const outcome = refused(run);
      runs.set(outcome, run);
      return outcome;
    },
    { under, partMs },
  );
  const works = tried.some(({ kind }) => kind === 'delivered');
  const judged = tried.map((outcome): Outcome => {
    if (outcome.kind === 'untried') return { ...outcome, mayHaveArrived: true }; // all were in the first run
    if (outcome.kind === 'unavailable') return { ...outcome, unsent: false, mayHaveArrived: true };
    const run = outcome.kind === 'refused' ? runs.get(outcome) : undefined;
    return run && !works && !run.blamesLead ? unavailable(run).toOutcome() : outcome;
  });
  if (!judged.some(({ kind }) => kind === 'delivered' || kind === 'refused')) throw unavailable(last);
  const byItem = new Map(order.flat().map((at, index) => [at, judged[index]]));
  return items.map((_, at) => byItem.get(at) as Outcome);
}

/** Returns the positions of items in parts: a few alone, evenly spread, and then the others together. */
function probesFirst(count: number, offset: number): readonly (readonly number[])[] {
  const probes = Math.min(count, REFUSALS_BEFORE_HOLD);
  const alone = Array.from({ length: probes }, (_, at) => Math.floor(((at + offset) * count) / probes));
  const isAlone = new Set(alone);
  const others = Array.from({ length: count }, (_, at) => at).filter((at) => !isAlone.has(at));
  return [...alone.map((at) => [at]), ...(others.length > 0 ? [others] : [])];
}
