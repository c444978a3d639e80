import { type RecordError, recordError } from './answer.ts';
import { findDuplicates } from './duplicate-rule.ts';
import type { Field } from './field.ts';
import { checkValue, type FieldValue, parseValue } from './field-value.ts';
import type { ObjectTable, StoredRecord } from './object-table.ts';
import type { Org } from './org.ts';

/** How the headers of a request want records saved. */
export interface SaveOptions {
  /** Whether leads that a duplicate rule only alerts of are saved (`Sforce-Duplicate-Rule-Header`). */
  readonly allowSave: boolean;
  /** Whether the active assignment rule gives new leads their owner (`Sforce-Auto-Assign`). */
  readonly assign: boolean;
}

/** A record that was saved, with the way back; or the errors for which it was not. */
export type Saved =
  | { readonly record: StoredRecord; readonly created: boolean; undo(): void }
  | { readonly errors: readonly RecordError[]; readonly unreadable?: boolean };

type Values = Readonly<Record<string, FieldValue>>;

/**
 * Creates a record, or updates `existing`, in Salesforce's order of execution: the request is read, access and values are
 * checked, then triggers, validation rules and duplicate rules run, and unique fields last.
 */
export function saveRecord(
  org: Org,
  table: ObjectTable,
  input: Readonly<Record<string, unknown>>,
  existing: StoredRecord | undefined,
  options: SaveOptions,
): Saved {
  const read = readInput(org, table, input);
  if ('errors' in read) return { ...read, unreadable: true };
  const errors = [
    ...faultsOfAccess(org, table, read.fields, existing),
    ...faultsOfRow(org, table, read.values, existing),
  ];
  if (errors.length > 0) return { errors };
  const values: Values = { ...(existing ?? defaultsOf(table)), ...read.values };
  const faults = faultsOfValues(table, read, values);
  if (faults.length > 0) return { errors: faults };
  const stopped =
    table.definition.name === 'Lead' ? stopLead(org, table, values, existing, options) : undefined;
  const error = stopped ?? findCollision(table, values, existing);
  if (error !== undefined) return { errors: [error] };
  const named = nameOf(table, values);
  if (existing !== undefined) {
    const record = table.update(existing, { ...read.values, ...named });
    return { record, created: false, undo: () => table.put(existing) };
  }
  const record = table.insert({ ...ownerOf(org, table, options), ...values, ...named });
  return { record, created: true, undo: () => table.forget(record.Id) };
}

interface Read {
  readonly fields: readonly Field[];
  readonly values: Values;
}

function readInput(
  org: Org,
  table: ObjectTable,
  input: Readonly<Record<string, unknown>>,
): Read | { readonly errors: readonly RecordError[] } {
  const fields: Field[] = [];
  const values: Record<string, FieldValue> = {};
  for (const [name, value] of Object.entries(input)) {
    if (name === 'attributes') continue;
    const field = org.visibleField(table, name);
    if (field === undefined) {
      const message = `No such column '${name}' on sobject of type ${table.definition.name}`;
      return { errors: [recordError('INVALID_FIELD', message)] };
    }
    const parsed = parseValue(field, value);
    if (typeof parsed === 'object' && parsed !== null) return { errors: [parsed] };
    fields.push(field);
    values[field.name] = parsed;
  }
  return { fields, values };
}

function faultsOfAccess(
  org: Org,
  table: ObjectTable,
  fields: readonly Field[],
  existing: StoredRecord | undefined,
): RecordError[] {
  const { settings } = org;
  if (settings.readOnlyMode)
    return [
      recordError(
        'INSERT_UPDATE_DELETE_NOT_ALLOWED_DURING_MAINTENANCE',
        'Inserts, updates, and deletes are not allowed during maintenance',
      ),
    ];
  if (!org.mayWrite(table))
    return [recordError('INSUFFICIENT_ACCESS_OR_READONLY', 'insufficient access rights on object id')];
  const writable = existing === undefined ? 'createable' : 'updateable';
  const readOnly = fields.filter((field) => !field[writable] || !org.isEditable(table, field));
  if (readOnly.length === 0) return [];
  const names = readOnly.map(({ name }) => name);
  const message = `Unable to create/update fields: ${names.join(', ')}. Please check the security settings of this field and verify that it is read/write for your profile or permission set.`;
  return [recordError('INVALID_FIELD_FOR_INSERT_UPDATE', message, names)];
}

function faultsOfRow(
  org: Org,
  table: ObjectTable,
  values: Values,
  existing: StoredRecord | undefined,
): RecordError[] {
  const { settings } = org;
  if (existing?.IsDeleted) return [recordError('ENTITY_IS_DELETED', 'entity is deleted')];
  if (existing?.['IsConverted'] === true)
    return [recordError('CANNOT_UPDATE_CONVERTED_LEAD', 'cannot reference converted lead')];
  if (settings.locked.size > 0 && isLocked(settings.locked, table, values))
    return [recordError('UNABLE_TO_LOCK_ROW', 'unable to obtain exclusive access to this record')];
  if (existing === undefined && settings.storageFull)
    return [recordError('STORAGE_LIMIT_EXCEEDED', 'storage limit exceeded')];
  return [];
}

function isLocked(locked: ReadonlySet<string>, table: ObjectTable, values: Values): boolean {
  return table.fields.some(({ externalId, name }) => externalId && locked.has(String(values[name])));
}

function faultsOfValues(table: ObjectTable, read: Read, values: Values): RecordError[] {
  const missing = table.requiredFields
    .filter(({ name }) => (values[name] ?? null) === null)
    .map(({ name }) => name);
  const required =
    missing.length === 0
      ? []
      : [
          recordError(
            'REQUIRED_FIELD_MISSING',
            `Required fields are missing: [${missing.join(', ')}]`,
            missing,
          ),
        ];
  return [
    ...required,
    ...read.fields.flatMap((field) => checkValue(field, values[field.name] ?? null) ?? []),
  ];
}

function stopLead(
  org: Org,
  table: ObjectTable,
  values: Values,
  existing: StoredRecord | undefined,
  options: SaveOptions,
): RecordError | undefined {
  const { states, trigger, validationRule, duplicateRule } = org.settings;
  const state = values['State'] ?? null;
  if (states !== undefined && state !== null && !states.includes(String(state)))
    return recordError(
      'FIELD_INTEGRITY_EXCEPTION',
      "There's a problem with this state, even though it may appear correct. Please select a state from the list of valid states.: State/Province",
      ['State'],
    );
  const stopped = trigger?.(values);
  if (stopped !== undefined) return stopped;
  if (validationRule?.refuses(values)) {
    const fields = validationRule.field === undefined ? [] : [validationRule.field];
    return recordError('FIELD_CUSTOM_VALIDATION_EXCEPTION', validationRule.message, fields);
  }
  if (duplicateRule === 'off' || (duplicateRule === 'alert' && options.allowSave)) return undefined;
  return findDuplicates(org, table, values, existing);
}

function findCollision(
  table: ObjectTable,
  values: Values,
  existing: StoredRecord | undefined,
): RecordError | undefined {
  for (const field of table.uniqueFields) {
    const value = values[field.name] ?? null;
    if (value === null) continue;
    const other = table.find(field, value).find(({ Id, IsDeleted }) => !IsDeleted && Id !== existing?.Id);
    if (other === undefined) continue;
    const message = `duplicate value found: ${field.name} duplicates value on record with id: ${other.Id}`;
    return recordError('DUPLICATE_VALUE', message);
  }
  return undefined;
}

function defaultsOf(table: ObjectTable): Values {
  if (table.definition.name !== 'Lead') return {};
  return { Status: 'Open - Not Contacted', IsConverted: false, HasOptedOutOfEmail: false };
}

function ownerOf(org: Org, table: ObjectTable, { assign }: SaveOptions): Values {
  return table.definition.name === 'Lead' ? { OwnerId: org.nextOwner(assign ? 'active' : 'none') } : {};
}

function nameOf(table: ObjectTable, values: Values): Values {
  if (table.definition.name !== 'Lead') return {};
  return { Name: [values['FirstName'], values['LastName']].filter(Boolean).join(' ') };
}
