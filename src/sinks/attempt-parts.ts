import type { Delivered, Outcome, Refused, Unavailable, Untried } from '../leads/outcome.ts';
import { REFUSALS_BEFORE_HOLD } from '../leads/sink-health.ts';
import { type AttemptUnderWay, WITHOUT_LEASE } from './sink.ts';
import { LeaseOver, SinkUnavailable } from './sink-unavailable.ts';

const UNTRIED: Untried = { kind: 'untried' };
const APART: Untried = { kind: 'untried', apart: true };

/** Items of a batch that are attempted together. */
interface Part<Item> {
  /** Index of the first item in the batch. */
  readonly at: number;
  readonly items: readonly Item[];
  /** Whether the part is half of a refused part. */
  readonly isHalf: boolean;
  /** Whether the destination has already seen the items, in a larger part that it refused as a whole. */
  readonly wasSent: boolean;
}

interface PartsOptions {
  readonly under: AttemptUnderWay;
  /** Maximum duration of one part, in ms. Every part after the first begins only if the attempt has that much time left. */
  readonly partMs: number;
  /** Whether a refusal blames a single item, so that the destination may accept one half of the part. Default: always. */
  readonly blamesOneItem?: (refused: Refused) => boolean;
}

/**
 * Attempts parts of a batch one after the other and returns one outcome per item, in order. Halves a refused part until the item at fault is
 * alone, so that the other items are delivered.
 *
 * Stops when the destination is unavailable. The remaining items then have the same outcome, marked as unsent. Remaining items that the
 * destination has already seen, in a part that it refused, are untried instead, because they must not count as never sent. Also stops when the
 * time is up, or when the destination has accepted nothing and has refused enough single items for the sink to be held. The remaining items are
 * then untried. If the time is up and the next part is half of a refused part, that half is marked to be attempted apart, so that a slow
 * destination gets smaller parts with each attempt instead of the same parts again.
 *
 * `attempt` returns the outcome of a whole part or throws SinkUnavailable.
 * @throws SinkUnavailable if the destination becomes unavailable before it has seen a part
 */
export async function attemptParts<Item>(
  parts: readonly (readonly Item[])[],
  attempt: (part: readonly Item[]) => Promise<Delivered | Refused>,
  { under, partMs, blamesOneItem = () => true }: PartsOptions = { under: WITHOUT_LEASE, partMs: 0 },
): Promise<Outcome[]> {
  const waiting = withPositions(parts);
  const outcomes: Outcome[] = parts.flat().map(() => UNTRIED);
  const settle = ({ at, items }: Part<Item>, outcome: Outcome) =>
    outcomes.fill(outcome, at, at + items.length);
  const settled: Outcome[] = [];
  let [part, isFirst] = [waiting.shift(), true];
  while (part && !refusesAll(settled)) {
    if (!isFirst && under.timeLeftMs() < partMs) {
      if (part.isHalf) settle(part, APART);
      break;
    }
    isFirst = false;
    try {
      under.confirmLease();
      const outcome = await attempt(part.items);
      if (outcome.kind === 'refused' && part.items.length > 1 && blamesOneItem(outcome)) {
        const [first, second] = halves(part, part.wasSent || !outcome.unsent);
        // At the end of the queue, so that adjacent bad items are isolated far apart in time: a few of them in a row would look
        // like a destination that refuses everything.
        waiting.push(second);
        part = first;
        continue;
      }
      settle(part, outcome);
      settled.push(outcome);
    } catch (error) {
      if (!(error instanceof SinkUnavailable) || (settled.length === 0 && !part.wasSent)) throw error;
      settle(part, failureOf(part, error));
      for (const left of waiting)
        settle(left, left.wasSent ? UNTRIED : { ...error.toOutcome(), unsent: true });
      break;
    }
    part = waiting.shift();
  }
  return outcomes;
}

function withPositions<Item>(parts: readonly (readonly Item[])[]): Part<Item>[] {
  let at = 0;
  return parts.map((items) => {
    const part = { at, items, isHalf: false, wasSent: false };
    at += items.length;
    return part;
  });
}

/** Returns the outcome of a part that could not be attempted, or whose attempt failed. */
function failureOf({ wasSent }: Part<unknown>, error: SinkUnavailable): Unavailable | Untried {
  const outcome = error.toOutcome();
  if (!wasSent || !outcome.unsent) return outcome;
  return error instanceof LeaseOver ? UNTRIED : { ...outcome, unsent: false, mayHaveArrived: false };
}

function refusesAll(settled: readonly Outcome[]): boolean {
  return settled.length >= REFUSALS_BEFORE_HOLD && settled.every(({ kind }) => kind === 'refused');
}

function halves<Item>({ at, items }: Part<Item>, wasSent: boolean): [Part<Item>, Part<Item>] {
  const middle = Math.ceil(items.length / 2);
  return [
    { at, items: items.slice(0, middle), isHalf: true, wasSent },
    { at: at + middle, items: items.slice(middle), isHalf: true, wasSent },
  ];
}
