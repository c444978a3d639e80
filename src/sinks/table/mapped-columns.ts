import type { Batch } from '../../leads/delivery.ts';
import type { MappedColumn, MappedValue } from '../../leads/mapped-fields.ts';

/**
 * Name of the column for the JSON of leads as received, in a batch that also contains mapped leads. The leads as received were first sent before
 * their sink had a mapping.
 */
export const AS_RECEIVED = '_leadsync_raw';

/** Whether a batch contains both mapped leads and leads as received. */
export function isMixed({ deliveries }: Batch): boolean {
  return (
    deliveries.some(({ fields }) => fields === undefined) &&
    deliveries.some(({ fields }) => fields !== undefined)
  );
}

/**
 * Returns a column for each field in the mappings of a batch's deliveries. Returns undefined if no lead of the batch is mapped. If some values of
 * a column do not have its type, because the mapping has changed, the column is text.
 */
export function mappedColumns({ columns = [], deliveries }: Batch): readonly MappedColumn[] | undefined {
  const mapped = deliveries.flatMap(({ fields }) => fields ?? []);
  if (mapped.length === 0) return undefined;
  const known = new Set(columns.map(({ name }) => name));
  const others = new Set<string>();
  for (const fields of mapped) for (const name of fields.keys()) if (!known.has(name)) others.add(name);
  const all = [...columns, ...[...others].map((name): MappedColumn => ({ name, type: 'text' }))];
  return all.map(({ name, type }) => {
    const fits = mapped.every((fields) => hasType(fields.get(name) ?? null, type));
    return { name, type: fits ? type : 'text' };
  });
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** Whether a column of this type can hold the value exactly. Null fits every type. */
export function hasType(value: MappedValue, type: MappedColumn['type']): boolean {
  if (value === null) return true;
  switch (type) {
    case 'bigint':
      return typeof value === 'bigint' || Number.isSafeInteger(value);
    case 'double':
      return typeof value === 'number';
    case 'boolean':
      return typeof value === 'boolean';
    case 'time':
      return typeof value === 'string' && TIME.test(value);
    case 'json':
      return typeof value === 'object';
    case 'text':
      return true;
  }
}
