import type { FailureReason, FailureReasons } from '../../contract/sink-activity.ts';
import type { ReasonRow } from './sink-activity.ts';

/** Maximum number of deliveries in each state that are read for all sinks together, and for one sink. */
const [MAX_READ, MAX_READ_OF_SINK] = [20_000, 5_000];
/** Maximum number of reasons that are read for each sink and state. */
export const MAX_REASONS_OF_SINK = 100;
/** Maximum number of reasons returned. */
const MAX_REASONS = 100;

/** The reasons among the deliveries of a sink in one state that were read. */
interface ReadReasons {
  readonly sink: string;
  readonly state: FailureReason['state'];
  readonly rows: readonly ReasonRow[];
}

/** Returns how many deliveries in each state are read for a sink, if so many sinks are read. */
export function readOfSink(sinks: number): number {
  return Math.min(MAX_READ_OF_SINK, Math.ceil(MAX_READ / Math.max(1, sinks)));
}

/** Returns the reasons of all sinks together, most frequent first, and equally frequent ones by their text. `most` is how many deliveries in each state were read for a sink. */
export function failureReasonsOf(read: readonly ReadReasons[], most: number): FailureReasons {
  const found = new Map<string, FailureReason>();
  for (const { sink, state, rows } of read)
    for (const { reason, deliveries } of rows) {
      if (reason === null) continue;
      const key = `${state} ${reason}`;
      const known = found.get(key) ?? { state, reason, deliveries: 0, sinks: [] };
      const sinks = [...known.sinks, { sink, deliveries }];
      found.set(key, { ...known, deliveries: known.deliveries + deliveries, sinks });
    }
  const reasons = [...found.values()].sort(
    (one, other) =>
      other.deliveries - one.deliveries ||
      (one.reason < other.reason ? -1 : Number(one.reason > other.reason)),
  );
  const all = read.reduce((sum, { rows }) => sum + (rows[0]?.all ?? 0), 0);
  const shown = reasons.slice(0, MAX_REASONS);
  return {
    reasons: shown.map((group) => ({
      ...group,
      sinks: group.sinks.toSorted((one, other) => other.deliveries - one.deliveries),
    })),
    others: all - shown.reduce((sum, { deliveries }) => sum + deliveries, 0),
    isComplete: read.every(({ rows }) => (rows[0]?.all ?? 0) < most),
  };
}
