/**
 * Returns `did you mean "timeout"?` if one of the names is similar to the written one, otherwise an empty string. `share` is the fraction of the
 * characters that may differ.
 */
export function didYouMean(written: string, names: Iterable<string>, share = 1 / 3): string {
  const similar = similarName(written, names, share);
  return similar === undefined ? '' : `did you mean "${similar}"?`;
}

/**
 * Returns the name that is most similar to the written one but not identical to it; undefined if none is similar enough. `share` is as for
 * `didYouMean`.
 */
export function similarName(written: string, names: Iterable<string>, share = 1 / 3): string | undefined {
  const limit = Math.max(1, Math.floor(Math.min(written.length, 12) * share));
  let nearest: { name: string; distance: number } | undefined;
  for (const name of names) {
    if (name === written || Math.abs(name.length - written.length) > limit) continue;
    const distance = editDistance(written.toLowerCase(), name.toLowerCase());
    if (distance <= limit && distance < (nearest?.distance ?? Infinity)) nearest = { name, distance };
  }
  return nearest?.name;
}

/** Returns the Damerau-Levenshtein distance (optimal string alignment). */
function editDistance(one: string, other: string): number {
  const cost: number[][] = Array.from({ length: one.length + 1 }, (_, row) => [row]);
  const at = (row: number, column: number) => cost[row]?.[column] ?? row + column;
  for (let row = 1; row <= one.length; row++) {
    for (let column = 1; column <= other.length; column++) {
      const same = one[row - 1] === other[column - 1];
      let least = Math.min(
        at(row - 1, column) + 1,
        at(row, column - 1) + 1,
        at(row - 1, column - 1) + (same ? 0 : 1),
      );
      if (one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1] && row > 1 && column > 1) {
        least = Math.min(least, at(row - 2, column - 2) + 1);
      }
      cost[row]?.splice(column, 1, least);
    }
  }
  return at(one.length, other.length);
}
