/** A stretch of time, in ms since 1970: from `since` on, and before `until`. */
export interface Period {
  readonly since: number;
  readonly until: number;
}

/** The same of what people choose by, who may leave either end open. */
export function periodOf({
  since,
  until,
}: {
  readonly since?: Date | undefined;
  readonly until?: Date | undefined;
}): Period {
  return { since: since?.getTime() ?? 0, until: until?.getTime() ?? Number.MAX_SAFE_INTEGER };
}
