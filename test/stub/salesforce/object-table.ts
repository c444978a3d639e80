import type { Field, ObjectDefinition } from './field.ts';
import type { FieldValue } from './field-value.ts';
import { longId, recordId } from './record-id.ts';

/** A stored record: its fields by name, in the spelling of the object. */
export interface StoredRecord {
  readonly Id: string;
  readonly IsDeleted: boolean;
  readonly [field: string]: FieldValue;
}

/** The records of an object, found by id and by every field that a record can be looked up by. */
export class ObjectTable {
  readonly definition: ObjectDefinition;
  readonly #fields = new Map<string, Field>();
  #list: readonly Field[] = [];
  #required: readonly Field[] = [];
  #unique: readonly Field[] = [];
  readonly #records = new Map<string, StoredRecord>();
  readonly #indexes = new Map<string, Map<string, Set<string>>>();
  readonly #now: () => Date;
  #count = 0;

  constructor(definition: ObjectDefinition, now: () => Date) {
    this.definition = definition;
    this.#now = now;
    for (const field of definition.fields) this.putField(field);
  }

  get fields(): readonly Field[] {
    return this.#list;
  }

  /** The fields without which no record is stored. */
  get requiredFields(): readonly Field[] {
    return this.#required;
  }

  /** The fields whose values belong to one record each. */
  get uniqueFields(): readonly Field[] {
    return this.#unique;
  }

  /** Returns the field of this name in any case. */
  field(name: string): Field | undefined {
    return this.#fields.get(name.toLowerCase());
  }

  /** Adds a field, or replaces one. */
  putField(field: Field): void {
    this.#fields.set(field.name.toLowerCase(), field);
    this.#listFields();
    if (!isIndexed(field)) return;
    this.#indexes.set(field.name, new Map());
    for (const record of this.#records.values()) this.#enter(field, record);
  }

  /** Removes a field, and its value from every record. */
  removeField(name: string): void {
    const field = this.field(name);
    if (field === undefined) return;
    this.#fields.delete(field.name.toLowerCase());
    this.#listFields();
    this.#indexes.delete(field.name);
    for (const record of this.#records.values()) {
      const { [field.name]: _, ...rest } = record;
      this.#records.set(record.Id, rest as StoredRecord);
    }
  }

  /** Returns the records, deleted ones included, oldest first. */
  all(): StoredRecord[] {
    return [...this.#records.values()];
  }

  get(id: string): StoredRecord | undefined {
    const long = longId(id);
    return long === undefined ? undefined : this.#records.get(long);
  }

  /** Returns the records with this value, deleted ones included, oldest first. */
  find(field: Field, value: FieldValue): StoredRecord[] {
    if (value === null) return this.all().filter((record) => (record[field.name] ?? null) === null);
    if (field.type === 'id') return [this.get(String(value))].filter((record) => record !== undefined);
    const index = this.#indexes.get(field.name);
    const key = keyOf(field, value);
    if (index === undefined) return this.all().filter((record) => keyOf(field, record[field.name]) === key);
    return [...(index.get(key) ?? [])].flatMap((id) => this.#records.get(id) ?? []);
  }

  insert(values: Readonly<Record<string, FieldValue>>): StoredRecord {
    this.#count += 1;
    const at = this.#now().toISOString().replace('Z', '+0000');
    const record: StoredRecord = {
      Id: recordId(this.definition.keyPrefix, this.#count),
      IsDeleted: false,
      CreatedDate: at,
      LastModifiedDate: at,
      SystemModstamp: at,
      ...values,
    };
    this.put(record);
    return record;
  }

  update(record: StoredRecord, values: Readonly<Record<string, FieldValue>>): StoredRecord {
    const at = this.#now().toISOString().replace('Z', '+0000');
    const changed = { ...record, ...values, LastModifiedDate: at, SystemModstamp: at };
    this.put(changed);
    return changed;
  }

  /** Stores a record in this form, in place of any with its id. */
  put(record: StoredRecord): void {
    this.#leaveIndexes(record.Id);
    this.#records.set(record.Id, record);
    for (const name of this.#indexes.keys()) this.#enter(this.#fieldNamed(name), record);
  }

  /** Removes a record without a trace, as a rollback does. */
  forget(id: string): void {
    this.#leaveIndexes(id);
    this.#records.delete(id);
  }

  #leaveIndexes(id: string): void {
    const record = this.#records.get(id);
    if (record === undefined) return;
    for (const [name, index] of this.#indexes) {
      const key = keyOf(this.#fieldNamed(name), record[name]);
      const ids = index.get(key);
      ids?.delete(id);
      if (ids?.size === 0) index.delete(key);
    }
  }

  #listFields(): void {
    this.#list = [...this.#fields.values()];
    this.#required = this.#list.filter(({ required }) => required);
    this.#unique = this.#list.filter(({ unique }) => unique);
  }

  #fieldNamed(name: string): Field {
    return this.field(name) as Field;
  }

  #enter(field: Field, record: StoredRecord): void {
    const value = record[field.name] ?? null;
    if (value === null) return;
    const index = this.#indexes.get(field.name);
    const key = keyOf(field, value);
    const ids = index?.get(key);
    if (ids === undefined) index?.set(key, new Set([record.Id]));
    else ids.add(record.Id);
  }
}

function isIndexed(field: Field): boolean {
  return field.externalId || field.unique || field.type === 'email' || field.type === 'reference';
}

/** Returns the form of a value in which equal ones are alike. */
export function keyOf(field: Field, value: FieldValue | undefined): string {
  if (field.type === 'reference') return longId(String(value)) ?? String(value);
  return field.caseSensitive ? String(value) : String(value).toLowerCase();
}
