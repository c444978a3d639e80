/** The middle of some values; between the two middle ones when their number is even. @throws RangeError for none */
export function median(values: readonly number[]): number {
  return percentile(values, 50);
}

/** The value below which `percent` of the values lie, between two neighbours in proportion. @throws RangeError for none */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const place = ((sorted.length - 1) * percent) / 100;
  const below = sorted[Math.floor(place)];
  const above = sorted[Math.ceil(place)];
  if (below === undefined || above === undefined) throw new RangeError('no values, no percentile');
  return below + (above - below) * (place - Math.floor(place));
}

/** Median, least and greatest. @throws RangeError for none */
export function spread(values: readonly number[]): { median: number; min: number; max: number } {
  return { median: median(values), min: Math.min(...values), max: Math.max(...values) };
}
