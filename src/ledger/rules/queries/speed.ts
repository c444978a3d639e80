import type { Percentiles, Speed } from '../../contract/page-rows.ts';

/** Maximum number of leads measured. If there are more leads, the sample is spread evenly over the period. */
export const MAX_SAMPLE = 1_000;

/** Maximum number of leads of a source among which every n-th is selected by going through an index. */
export const MAX_STEPPED = 20_000;

/** A new lead that was delivered, with times in ms since 1970. */
export interface Arrival {
  readonly sinkNo: number;
  readonly seen: number;
  readonly created: number | null;
  readonly delivered: number;
}

/** Returns the numbers of the versions to measure, from the first to the last version of a period. */
export function sampleOf(first: number, last: number): number[] {
  if (first > last) return [];
  const versions = last - first + 1;
  const step = Math.max(1, versions / MAX_SAMPLE);
  return Array.from({ length: Math.ceil(versions / step) }, (_, n) => Math.floor(first + n * step));
}

/** Returns the delivery times of the leads that arrived at a sink. */
export function speedOf(sink: string, arrivals: readonly Arrival[]): Speed {
  const created = arrivals.flatMap((row) => (row.created === null ? [] : [row.delivered - row.created]));
  return {
    sink,
    leads: arrivals.length,
    seenToDelivered: percentiles(arrivals.map(({ seen, delivered }) => delivered - seen)),
    createdToDelivered: percentiles(created),
  };
}

/** Returns percentiles by the nearest-rank method. */
function percentiles(values: number[]): Percentiles | undefined {
  const sorted = values.sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.ceil(share * sorted.length) - 1];
  const [p50, p95] = [at(0.5), at(0.95)];
  return p50 === undefined || p95 === undefined ? undefined : { p50, p95 };
}
