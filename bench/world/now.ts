/** The time in ms since 1970, with fractions. Every measured moment is taken by this one clock, in one process. */
export function now(): number {
  return performance.timeOrigin + performance.now();
}
