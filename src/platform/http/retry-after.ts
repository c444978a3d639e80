/**
 * Reads a Retry-After header (RFC 9110, section 10.2.3): whole seconds or an HTTP date.
 * Gives milliseconds from `now`, 0 for a date that has passed, undefined for what cannot be read. The caller limits it.
 */
export function readRetryAfter(header: string | undefined | null, now: Date): number | undefined {
  const text = header?.trim();
  if (!text) return undefined;
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  if (!/^[A-Za-z]{3,9},? /.test(text)) return undefined;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.max(0, at - now.getTime());
}
