/** The headers of an answer that Retry-After is read from. */
export interface RetryAfterHeaders {
  readonly retryAfter: string | undefined | null;
  /** When the other side says that it answered. */
  readonly date: string | undefined | null;
}

/**
 * Reads a Retry-After header (RFC 9110, section 10.2.3): whole seconds or an HTTP date. A date is one of the other side's clock, so it
 * is compared with the Date header of the same answer; without one that can be read, with `now`.
 * Gives milliseconds from now, 0 for a date that has passed, undefined for what cannot be read. The caller limits it.
 */
export function readRetryAfter({ retryAfter, date }: RetryAfterHeaders, now: Date): number | undefined {
  const text = retryAfter?.trim();
  if (!text) return undefined;
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  const at = httpDate(text);
  return at === undefined ? undefined : Math.max(0, at - (httpDate(date?.trim()) ?? now.getTime()));
}

/** In ms since 1970. Of the three forms of a date (RFC 9110, section 5.6.7), one names no zone; all are in GMT. */
function httpDate(text: string | undefined): number | undefined {
  if (text === undefined || !/^[A-Za-z]{3,9},? /.test(text)) return undefined;
  const at = Date.parse(/(?:[A-Z]|[+-]\d{4})$/i.test(text) ? text : `${text} GMT`);
  return Number.isNaN(at) ? undefined : at;
}
