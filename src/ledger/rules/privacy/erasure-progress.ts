import type { DeliveryState } from '../../../leads/delivery.ts';
import type { ErasureCounts, FormerDestination, SinkErasure } from '../../../leads/person.ts';

/** A lead that a sink may have: the state of its delivery of the event `erased`, and whether the sink is known to have got the lead. */
export interface ErasureRow {
  sink: string;
  told: DeliveryState | null;
  got: 0 | 1;
  paused: 0 | 1;
}

/** A former destination that may have a lead. `until` is in ms since 1970. */
export interface FormerRow {
  sink: string;
  place: string;
  until: number;
}

/** Returns the progress of an erasure at each sink. */
export function progressOf(rows: readonly ErasureRow[]): SinkErasure[] {
  return [...Map.groupBy(rows, ({ sink }) => sink)].map(([sink, ofSink]) => {
    const count = (state: DeliveryState) => ofSink.filter(({ told }) => told === state).length;
    return {
      sink,
      had: ofSink.length,
      certain: ofSink.filter(({ got }) => got === 1).length,
      told: count('delivered'),
      owed: count('pending'),
      refused: count('dead'),
      paused: ofSink.some(({ paused }) => paused === 1),
    };
  });
}

/** Returns the former destinations, with the number of leads that each may have. */
export function formerOf(rows: readonly FormerRow[]): FormerDestination[] {
  return [...Map.groupBy(rows, ({ sink, until }) => `${sink} ${until}`).values()].flatMap((group) => {
    const [first] = group;
    return first ? [{ ...first, until: new Date(first.until), had: group.length }] : [];
  });
}

/** Returns the counts of an erasure from those of its leads. `rejected` is the number of rejected leads that lost their text before. */
export function sumOf(parts: readonly ErasureCounts[], rejected: number): ErasureCounts {
  const sum = (of: (part: ErasureCounts) => number) => parts.reduce((total, part) => total + of(part), 0);
  return {
    versions: sum((part) => part.versions),
    rejected: sum((part) => part.rejected) + rejected,
    attempts: sum((part) => part.attempts),
    skipped: sum((part) => part.skipped),
    underWay: sum((part) => part.underWay),
  };
}
