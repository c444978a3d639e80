import type { Delivered, Outcome, Refused, Untried } from '../leads/outcome.ts';
import { REFUSALS_BEFORE_HOLD } from '../leads/sink-health.ts';
import { type AttemptUnderWay, SinkUnavailable, WITHOUT_LEASE } from './sink.ts';

const UNTRIED: Untried = { kind: 'untried' };
const APART: Untried = { kind: 'untried', apart: true };

/** Items of a batch that are attempted together, and where in the batch the first of them stands. */
interface Part<Item> {
  readonly at: number;
  readonly items: readonly Item[];
}

/** What the parts of an attempt go by. */
interface PartsOptions {
  readonly under: AttemptUnderWay;
  /** How long one part may take, in ms: after the first, none begins for which there is less time left. */
  readonly partMs: number;
}

/**
 * Attempts parts of a batch one after the other. A part of several items that is refused is halved until the one item
 * at fault is alone, so that the others get through. Once the destination is unavailable no further part is sent, nor once
 * it has refused as many items alone as hold a sink and taken none, nor when the time is up: the rest is untried. A part that
 * would have been next, as half of one that was refused, is then marked to be attempted apart from the others: so a slow
 * destination gets smaller parts with each attempt, and not the same ones over and over.
 * `attempt` gives the outcome of a whole part, or throws SinkUnavailable.
 * @returns one outcome per item, in order
 * @throws SinkUnavailable when nothing has been settled by then
 */
export async function attemptParts<Item>(
  parts: readonly (readonly Item[])[],
  attempt: (part: readonly Item[]) => Promise<Delivered | Refused>,
  { under, partMs }: PartsOptions = { under: WITHOUT_LEASE, partMs: 0 },
): Promise<Outcome[]> {
  const waiting = withPositions(parts);
  const outcomes: Outcome[] = parts.flat().map(() => UNTRIED);
  const settle = ({ at, items }: Part<Item>, outcome: Outcome) =>
    outcomes.fill(outcome, at, at + items.length);
  const settled: Outcome[] = [];
  let [part, isFirst, isHalf] = [waiting.shift(), true, false];
  while (part && !refusesAll(settled)) {
    if (!isFirst && under.timeLeftMs() < partMs) {
      if (isHalf) settle(part, APART);
      break;
    }
    isFirst = false;
    try {
      under.confirmLease();
      const outcome = await attempt(part.items);
      if (outcome.kind === 'refused' && part.items.length > 1) {
        const [first, second] = halves(part);
        // Behind the others: so those that come to be alone stand far from each other, and a few bad ones side by side are
        // not taken for a destination that refuses everything.
        waiting.push(second);
        part = first;
        isHalf = true;
        continue;
      }
      settle(part, outcome);
      settled.push(outcome);
    } catch (error) {
      if (!(error instanceof SinkUnavailable) || settled.length === 0) throw error;
      const outcome = error.toOutcome();
      settle(part, outcome);
      for (const left of waiting) settle(left, { ...outcome, unsent: true });
      break;
    }
    part = waiting.shift();
    isHalf = false;
  }
  return outcomes;
}

function withPositions<Item>(parts: readonly (readonly Item[])[]): Part<Item>[] {
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
