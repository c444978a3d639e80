import type { Batch } from '../../leads/delivery.ts';
import type { MappedColumn, MappedType, MappedValue } from '../../leads/mapped-fields.ts';
import { hasType } from './mapped-columns.ts';

/** The columns of `leads` that hold fields, with the types of their values: `text` for a column that holds any value as text. */
export type FieldColumns = ReadonlyMap<string, MappedType>;

/** A field of a mapping. */
export interface Field {
  readonly name: string;
  /** Its type in the mapping of the batch; undefined if the field is only in an earlier mapping, from which some of the deliveries come. */
  readonly type: MappedType | undefined;
  /** The type of a column that can hold every value of the batch, including those of an earlier mapping. */
  readonly fitting: MappedType;
}

/** Returns the fields of a mapping, according to its columns alone. */
export function fieldsOfColumns(columns: readonly MappedColumn[]): readonly Field[] {
  return columns.map(({ name, type }) => ({ name, type, fitting: type }));
}

/** Returns the fields of a batch: those of its mapping, then those that only an earlier mapping of some deliveries had. */
export function fieldsOf({ columns = [], deliveries }: Batch): readonly Field[] {
  const types = new Map<string, MappedType | undefined>(columns.map(({ name, type }) => [name, type]));
  for (const { fields } of deliveries)
    for (const name of fields?.keys() ?? []) if (!types.has(name)) types.set(name, undefined);
  return [...types].map(([name, type]) => {
    const fits = type !== undefined && valuesOf(name, deliveries).every((value) => hasType(value, type));
    return { name, type, fitting: fits ? type : 'text' };
  });
}

function valuesOf(name: string, deliveries: Batch['deliveries']): readonly MappedValue[] {
  return deliveries.map(({ fields }) => fields?.get(name) ?? null);
}

/** Whether columns are known to exist for all fields of a batch, and can hold all of its values. */
export function canHold(columns: FieldColumns, batch: Batch): boolean {
  return fieldsOf(batch).every(({ name, type, fitting }) => {
    const held = columns.get(name);
    if (held === undefined || held === 'text') return held !== undefined;
    return held === fitting ? type === undefined || type === held : isWider(held, fitting);
  });
}

/** Whether a column of type `held` can also hold the values of `type`: a column of numbers can hold whole numbers. */
export function isWider(held: MappedType, type: MappedType): boolean {
  return held === 'double' && type === 'bigint';
}
