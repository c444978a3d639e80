/** Returns the names of the top-level fields in which two versions of a lead differ. Returns null if the earlier content has been removed. */
export function changedFields(before: string, after: string): string[] | null {
  const [old, now] = [JSON.parse(before), JSON.parse(after)] as [
    Record<string, unknown>,
    Record<string, unknown>,
  ];
  if (Object.keys(old).length === 1) return null;
  const names = new Set([...Object.keys(old), ...Object.keys(now)]);
  return [...names].filter((name) => JSON.stringify(old[name]) !== JSON.stringify(now[name]));
}
