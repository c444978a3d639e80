/** A period: at or after `since`, and before `until`, in ms since 1970. */
export interface Period {
  readonly since: number;
  readonly until: number;
}

/** Returns the period of a filter, in which either end may be open. */
export function periodOf({
  since,
  until,
}: {
  readonly since?: Date | undefined;
  readonly until?: Date | undefined;
}): Period {
  return { since: since?.getTime() ?? 0, until: until?.getTime() ?? Number.MAX_SAFE_INTEGER };
}
