import type { LeftOutRecord } from '../ledgers/ledger-record.ts';
import type { Arrival } from './arrival.ts';
import { takes } from './form.ts';
import { beganSince, type Known } from './wrong-mappings.ts';

/** Returns the deliveries that were left out after a request with their id had arrived: a mapping must not take them back. */
export function leftOutLate(leftOut: readonly LeftOutRecord[], arrivals: readonly Arrival[]): string[] {
  const first = new Map(arrivals.toReversed().map(({ delivery, atMs }) => [delivery, atMs]));
  return leftOut.flatMap(({ sink, source, lead, delivery, atMs }) =>
    (first.get(delivery) ?? atMs) < atMs ? [`${sink}: ${source}:${lead} was left out after it arrived`] : [],
  );
}

/**
 * Returns the leads that a sink did not get although no mapping that was in force when the attempt began leaves them out. Together with
 * `wrongMappings`, this makes sure that the sinks of a split get each lead exactly once while their mappings stay the same.
 */
export function wronglyLeftOut(leftOut: readonly LeftOutRecord[], known: Known): string[] {
  return leftOut.flatMap((record) => {
    const { sink, source, lead, atMs } = record;
    const [fromMs, why] = beganSince(record, known);
    const could = known.inForce.during(sink, fromMs, atMs);
    if (could.some((form) => !takes(form, lead))) return [];
    return [`${sink}: ${source}:${lead} was left out, and every mapping since ${why} takes it`];
  });
}
