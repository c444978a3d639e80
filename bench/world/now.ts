/** Returns the time in ms since 1970, with fractions. All measured times come from this clock in one process. */
export function now(): number {
  return performance.timeOrigin + performance.now();
}
