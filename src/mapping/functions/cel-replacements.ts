import { ListTooLong, MAX_LIST } from '../lead-values.ts';

/** Maximum number of characters that `replace` may return. */
const MAX_REPLACED = 1024 * 1024;

/** Replaces every occurrence of `old`. @throws an error with the code `text_too_long` if the result is longer than 1 MB */
export function replaced(text: string, old: string, by: string): string {
  const times = old === '' ? text.length + 1 : text.split(old).length - 1;
  if (text.length + times * (by.length - old.length) <= MAX_REPLACED) return text.replaceAll(old, () => by);
  throw Object.assign(new Error('the result is too long'), { code: 'text_too_long' });
}

/** Splits the text as CEL's `split` does. @throws ListTooLong if the list has more than `MAX_LIST` elements */
export function limitedSplit(text: string, separator: string, limit?: bigint): string[] {
  const parts =
    limit === undefined || limit < 0n ? text.split(separator) : firstParts(text, separator, Number(limit));
  if (parts.length > MAX_LIST) throw new ListTooLong();
  return parts;
}

function firstParts(text: string, separator: string, limit: number): string[] {
  if (limit === 0) return [];
  const parts = text.split(separator);
  return parts.length <= limit
    ? parts
    : [...parts.slice(0, limit - 1), parts.slice(limit - 1).join(separator)];
}

/**
 * Converts a value to a whole number as CEL's `int` does, but fails for empty text, which the package converts to 0. @throws an error with the
 * package's code
 */
export function strictInt(value: unknown): bigint {
  const isWhole = typeof value === 'string' && /^[+-]?\d+$/.test(value);
  const number = typeof value === 'number' && Number.isFinite(value) ? BigInt(Math.trunc(value)) : value;
  const whole = isWhole ? BigInt(value) : number;
  if (typeof whole === 'bigint' && BigInt.asIntN(64, whole) === whole) return whole;
  throw Object.assign(new Error('not a whole number'), { code: 'int_conversion_error' });
}
