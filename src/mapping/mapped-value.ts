import type { MappedValue } from '../leads/mapped-fields.ts';
import { ExpressionFailed } from './expression.ts';
import { unwrapped } from './language.ts';

/** Maximum number of characters in a field. */
const MAX_FIELD_CHARACTERS = 1024 * 1024;
/** Maximum depth of lists and maps in a field. */
const MAX_DEPTH = 50;

/** Truncates the text to `max` characters, and leaves no half of a surrogate pair at the end. */
export function cut(text: string, max: number): string {
  if (text.length <= max) return text;
  const end = /[\uD800-\uDBFF]/.test(text.charAt(max - 1)) ? max - 1 : max;
  return text.slice(0, end);
}

/** Converts a CEL value: an absent optional to null, a time to ISO 8601. @throws ExpressionFailed if it cannot be sent */
export function mappedValue(value: unknown): MappedValue {
  return toMapped(value, { left: MAX_FIELD_CHARACTERS }, 0);
}

function toMapped(value: unknown, characters: { left: number }, depth: number): MappedValue {
  const plain = unwrapped(value);
  if (plain === null || plain === undefined) return null;
  if (typeof plain === 'string') {
    characters.left -= plain.length;
    if (characters.left >= 0) return plain.toWellFormed();
    throw new ExpressionFailed(`the result has more than ${MAX_FIELD_CHARACTERS} characters`, 1);
  }
  if (typeof plain === 'boolean') return plain;
  if (typeof plain === 'bigint') {
    if (BigInt.asIntN(64, plain) === plain) return plain;
    throw new ExpressionFailed('the number is too large', 1);
  }
  if (typeof plain === 'number') {
    if (Number.isFinite(plain)) return plain;
    throw new ExpressionFailed('the result is not a number', 1);
  }
  if (plain instanceof Date) return plain.toISOString();
  if (depth > MAX_DEPTH) throw new ExpressionFailed('the result is nested too deeply', 1);
  const inside = (item: unknown) => toMapped(item, characters, depth + 1);
  if (Array.isArray(plain)) return plain.map(inside);
  if (isUnsigned(plain)) return inside(plain.valueOf());
  const entries = plain instanceof Map ? [...plain] : undefined;
  if (entries) return Object.fromEntries(entries.map(([key, item]) => [String(key), inside(item)]));
  if (isPlainObject(plain))
    return Object.fromEntries(Object.entries(plain).map(([key, item]) => [key, inside(item)]));
  throw new ExpressionFailed('the result cannot be sent', 1);
}

/** Whether a value is one of CEL's unsigned integers, whose class the package does not export. */
function isUnsigned(value: object): value is { valueOf(): bigint } {
  return typeof value.valueOf() === 'bigint';
}

function isPlainObject(value: object): boolean {
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
