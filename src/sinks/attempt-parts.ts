import type { Delivered, Outcome, Refused } from '../leads/outcome.ts';
import { SinkUnavailable } from './sink.ts';

/**
 * Attempts parts of a batch one after the other. A part of several items that is refused is halved until the one item
 * at fault is alone, so that the others get through. Once the destination is unavailable no further part is sent.
 * `attempt` gives the outcome of a whole part, or throws SinkUnavailable.
 * @returns one outcome per item, in order
 * @throws SinkUnavailable when nothing has been settled by then
 */
export async function attemptParts<Item>(
  parts: readonly (readonly Item[])[],
  attempt: (part: readonly Item[]) => Promise<Delivered | Refused>,
): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  const waiting = [...parts];
  for (let part = waiting.shift(); part; part = waiting.shift()) {
    try {
      const outcome = await attempt(part);
      if (outcome.kind === 'refused' && part.length > 1) waiting.unshift(...halves(part));
      else outcomes.push(...part.map(() => outcome));
    } catch (error) {
      if (!(error instanceof SinkUnavailable) || outcomes.length === 0) throw error;
      const unavailable = error.toOutcome();
      outcomes.push(...[part, ...waiting].flat().map(() => unavailable));
      break;
    }
  }
  return outcomes;
}

function halves<Item>(part: readonly Item[]): [readonly Item[], readonly Item[]] {
  const middle = Math.ceil(part.length / 2);
  return [part.slice(0, middle), part.slice(middle)];
}
