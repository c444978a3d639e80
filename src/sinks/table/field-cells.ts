import {
  type MappedFields,
  type MappedType,
  type MappedValue,
  mappedJson,
  mappedText,
} from '../../leads/mapped-fields.ts';
import { storable } from '../../leads/storable-text.ts';
import { hasType } from './mapped-columns.ts';
import type { FieldColumns } from './table-fields.ts';

/** The value of a column of `leads` as a database accepts it: text for whole numbers, times and JSON. */
export type Cell = string | number | boolean | null;

/** A value of a mapping does not fit the type of its column. The message is one sentence without text from the lead. */
export class DoesNotFit extends Error {
  override readonly name = 'DoesNotFit';
}

/**
 * Returns the cells of the fields that a lead has, by column. A field with `once` is absent from an update, and so keeps its value.
 * @throws DoesNotFit
 */
export function cellsOf(fields: MappedFields | undefined, columns: FieldColumns): ReadonlyMap<string, Cell> {
  const cells = new Map<string, Cell>();
  for (const [name, value] of fields ?? []) {
    const type = columns.get(name);
    if (type !== undefined) cells.set(name, cellOf(name, value, type));
  }
  return cells;
}

function cellOf(name: string, value: MappedValue, type: MappedType): Cell {
  if (value === null) return null;
  if (type === 'json') return mappedJson(storableValue(value));
  if (type === 'text') return storable(mappedText(value));
  if (type === 'double' && typeof value === 'bigint' && Number.isSafeInteger(Number(value)))
    return Number(value);
  if (!hasType(value, type))
    throw new DoesNotFit(
      `The field \`${name}\` has a value for this lead that its column of type ${type} cannot hold.`,
    );
  return typeof value === 'boolean' ? value : String(value);
}

/** Replaces, in all strings of a value, the characters that databases cannot store. */
function storableValue(value: MappedValue): MappedValue {
  if (typeof value === 'string') return storable(value);
  if (Array.isArray(value)) return value.map(storableValue);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, of]) => [storable(key), storableValue(of)]));
}
