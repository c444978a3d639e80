import type { MappedType, MappedValue } from '../leads/mapped-fields.ts';
import { countOf } from '../platform/text/human-readable.ts';

/** Returns the kind of a value, without its content: `text of 12 characters`. `type` is the type of its field. */
export function outlineOf(value: MappedValue, type?: MappedType): string {
  if (value === null) return 'null';
  if (typeof value === 'string') {
    if (type === 'time') return 'time';
    return value === '' ? 'empty text' : `text of ${countOf(value.length, 'character')}`;
  }
  if (Array.isArray(value)) return `list of ${value.length}`;
  if (typeof value === 'object') return 'map';
  if (typeof value === 'boolean') return 'true or false';
  return typeof value === 'bigint' || Number.isInteger(value) ? 'whole number' : 'number';
}
