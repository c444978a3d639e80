import type { Delivered, Outcome, Refused, Untried } from '../leads/outcome.ts';
import { REFUSALS_BEFORE_HOLD } from '../leads/sink-health.ts';
import { SinkUnavailable } from './sink.ts';

const UNTRIED: Untried = { kind: 'untried' };

/** Items of a batch that are attempted together, and where in the batch the first of them stands. */
interface Part<Item> {
  readonly at: number;
  readonly items: readonly Item[];
}

/**
 * Attempts parts of a batch one after the other. A part of several items that is refused is halved until the one item
 * at fault is alone, so that the others get through. Once the destination is unavailable no further part is sent, nor once
 * it has refused as many items alone as hold a sink and taken none: the rest is untried.
 * `attempt` gives the outcome of a whole part, or throws SinkUnavailable.
 * @returns one outcome per item, in order
 * @throws SinkUnavailable when nothing has been settled by then
 */
export async function attemptParts<Item>(
  parts: readonly (readonly Item[])[],
  attempt: (part: readonly Item[]) => Promise<Delivered | Refused>,
): Promise<Outcome[]> {
  const waiting = placed(parts);
  const outcomes: Outcome[] = parts.flat().map(() => UNTRIED);
  const settle = ({ at, items }: Part<Item>, outcome: Outcome) =>
    outcomes.fill(outcome, at, at + items.length);
  const settled: Outcome[] = [];
  let part = waiting.shift();
  while (part && !refusesAll(settled)) {
    try {
      const outcome = await attempt(part.items);
      if (outcome.kind === 'refused' && part.items.length > 1) {
        const [first, second] = halves(part);
        // Behind the others: so those that come to be alone stand far from each other, and a few bad ones side by side are
        // not taken for a destination that refuses everything.
        waiting.push(second);
        part = first;
        continue;
      }
      settle(part, outcome);
      settled.push(outcome);
    } catch (error) {
      if (!(error instanceof SinkUnavailable) || settled.length === 0) throw error;
      for (const left of [part, ...waiting]) settle(left, error.toOutcome());
      break;
    }
    part = waiting.shift();
  }
  return outcomes;
}

function placed<Item>(parts: readonly (readonly Item[])[]): Part<Item>[] {
  let at = 0;
  return parts.map((items) => {
    const part = { at, items };
    at += items.length;
    return part;
  });
}

function refusesAll(settled: readonly Outcome[]): boolean {
  return settled.length >= REFUSALS_BEFORE_HOLD && settled.every(({ kind }) => kind === 'refused');
}

function halves<Item>({ at, items }: Part<Item>): [Part<Item>, Part<Item>] {
  const middle = Math.ceil(items.length / 2);
  return [
    { at, items: items.slice(0, middle) },
    { at: at + middle, items: items.slice(middle) },
  ];
}
