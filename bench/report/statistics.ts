/** Returns the median: the middle value, or the mean of the two middle values. @throws RangeError if there are no values */
export function median(values: readonly number[]): number {
  return percentile(values, 50);
}

/** Returns a percentile, with linear interpolation between two values. @throws RangeError if there are no values */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const place = ((sorted.length - 1) * percent) / 100;
  const below = sorted[Math.floor(place)];
  const above = sorted[Math.ceil(place)];
  if (below === undefined || above === undefined) throw new RangeError('there are no values');
  return below + (above - below) * (place - Math.floor(place));
}

/** Returns median, minimum and maximum. @throws RangeError if there are no values */
export function spread(values: readonly number[]): { median: number; min: number; max: number } {
  return { median: median(values), min: Math.min(...values), max: Math.max(...values) };
}
