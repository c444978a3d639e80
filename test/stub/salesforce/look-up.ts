import { type RecordError, recordError } from './answer.ts';
import type { Field } from './field.ts';
import type { FieldValue } from './field-value.ts';
import type { ObjectTable, StoredRecord } from './object-table.ts';
import type { Org } from './org.ts';
import { type SaveOptions, saveRecord } from './save-record.ts';

/** What a record of a request is about, or why it is about nothing. */
export type Target =
  | { readonly table: ObjectTable; readonly existing: StoredRecord | undefined }
  | { readonly errors: readonly RecordError[] };

/** Finds the record that an upsert by an external id is about; `existing` is undefined if it creates one. */
export function lookUp(
  org: Org,
  table: ObjectTable,
  field: Field,
  key: FieldValue,
  input: Readonly<Record<string, unknown>>,
  options: SaveOptions,
): Target {
  if (org.settings.raced.delete(String(key))) {
    const other = saveRecord(org, table, input, undefined, options);
    const id = 'record' in other ? other.record.Id : '';
    const message = `duplicate value found: ${field.name} duplicates value on record with id: ${id}`;
    return { errors: [recordError('DUPLICATE_VALUE', message)] };
  }
  const found = table.find(field, key);
  const live = found.filter(({ IsDeleted, Id }) => !IsDeleted && !org.settings.unseen.has(Id));
  if (live.length > 1) {
    const ids = live.map(({ Id }) => Id).join(', ');
    const message = `${field.label}: more than one record found for external id field: [${ids}]`;
    return { errors: [recordError('DUPLICATE_EXTERNAL_ID', message, [field.name])] };
  }
  const thrownAway = org.questions.deletedKey === 'ENTITY_IS_DELETED' ? found[0] : undefined;
  return { table, existing: live[0] ?? thrownAway };
}
