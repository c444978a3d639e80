/** The response headers from which `readRetryAfter` computes the wait. */
export interface RetryAfterHeaders {
  readonly retryAfter: string | undefined | null;
  /** The Date header: the time of the answer by the server's clock. */
  readonly date: string | undefined | null;
}

/**
 * Returns the wait in a Retry-After header (RFC 9110, section 10.2.3), in ms from now: 0 for a date in the past, undefined if unreadable. A date is a
 * time of the server's clock, so it is compared with the Date header of the same answer, or with `now` if that header is unreadable. The caller must
 * limit the wait.
 */
export function readRetryAfter({ retryAfter, date }: RetryAfterHeaders, now: Date): number | undefined {
  const text = retryAfter?.trim();
  if (!text) return undefined;
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  const at = httpDate(text);
  return at === undefined ? undefined : Math.max(0, at - (httpDate(date?.trim()) ?? now.getTime()));
}

/** Returns an HTTP date in ms since 1970. One of the three forms (RFC 9110, section 5.6.7) has no time zone; all are in GMT. */
function httpDate(text: string | undefined): number | undefined {
  if (text === undefined || !/^[A-Za-z]{3,9},? /.test(text)) return undefined;
  const at = Date.parse(/(?:[A-Z]|[+-]\d{4})$/i.test(text) ? text : `${text} GMT`);
  return Number.isNaN(at) ? undefined : at;
}
