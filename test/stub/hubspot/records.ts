import type { ObjectName } from './object-types.ts';

/** A record as an account holds it. */
export interface StoredRecord {
  readonly id: string;
  readonly properties: Readonly<Record<string, string>>;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** The records of one object, found by id and by each unique value without a scan. */
export class Records {
  readonly #lastModified: string;
  readonly #created: string;
  readonly #byId = new Map<string, StoredRecord>();
  readonly #ids = new Map<string, Map<string, string>>();
  readonly #mergedInto = new Map<string, string>();
  /** What changed records were before, oldest first, as long as search may still see it. */
  readonly #former = new Map<string, readonly StoredRecord[]>();

  constructor(object: ObjectName) {
    this.#lastModified = object === 'contacts' ? 'lastmodifieddate' : 'hs_lastmodifieddate';
    this.#created = object === 'contacts' || object === 'deals' ? 'createdate' : 'hs_createdate';
  }

  get all(): readonly StoredRecord[] {
    return [...this.#byId.values()];
  }

  /** Returns the record with this id, also if the id is that of a record that was merged into it. */
  byId(id: string): StoredRecord | undefined {
    return this.#byId.get(this.#mergedInto.get(id) ?? id);
  }

  wasMerged(id: string): boolean {
    return this.#mergedInto.has(id);
  }

  /** Returns the record with this value of a unique property; e-mail addresses include secondary ones. */
  byUnique(property: string, value: string): StoredRecord | undefined {
    const id = this.#ids.get(property)?.get(value);
    return id === undefined ? undefined : this.#byId.get(id);
  }

  /** Stores the properties that a record has from now on; makes the record if there is none with this id. */
  put(
    id: string,
    properties: Readonly<Record<string, string>>,
    unique: readonly string[],
    now: Date,
    lagMs: number,
  ): StoredRecord {
    const before = this.#byId.get(id);
    const createdAt = before?.createdAt ?? now;
    const stored: Record<string, string> = { ...properties };
    stored['hs_object_id'] = id;
    stored[this.#created] = createdAt.toISOString();
    stored[this.#lastModified] = now.toISOString();
    if (before) {
      this.#forgetUnique(before, unique);
      const former = [...(this.#former.get(id) ?? []), before];
      const seen = former.findLastIndex((record) => isVisible(record, now, lagMs));
      this.#former.set(id, former.slice(Math.max(0, seen)));
    }
    for (const [property, value] of uniqueValues(stored, unique)) this.#index(property).set(value, id);
    const record = { id, properties: stored, createdAt, updatedAt: now };
    this.#byId.set(id, record);
    return record;
  }

  delete(id: string, unique: readonly string[]): void {
    const record = this.#byId.get(id);
    if (!record) return;
    this.#forgetUnique(record, unique);
    this.#byId.delete(id);
    this.#former.delete(id);
  }

  /** Lets one id answer as another from now on. */
  redirect(fromId: string, toId: string): void {
    for (const [old, current] of this.#mergedInto) if (current === fromId) this.#mergedInto.set(old, toId);
    this.#mergedInto.set(fromId, toId);
  }

  /** Returns the records as search sees them: as they were `lagMs` ago. */
  searchable(now: Date, lagMs: number): StoredRecord[] {
    return [...this.#byId.values()].flatMap((record) => {
      const versions = [...(this.#former.get(record.id) ?? []), record];
      return versions.findLast((version) => isVisible(version, now, lagMs)) ?? [];
    });
  }

  #index(property: string): Map<string, string> {
    let index = this.#ids.get(property);
    if (!index) {
      index = new Map();
      this.#ids.set(property, index);
    }
    return index;
  }

  #forgetUnique(record: StoredRecord, unique: readonly string[]): void {
    for (const [property, value] of uniqueValues(record.properties, unique))
      if (this.#index(property).get(value) === record.id) this.#index(property).delete(value);
  }
}

function isVisible({ updatedAt }: StoredRecord, now: Date, lagMs: number): boolean {
  return updatedAt.getTime() + lagMs <= now.getTime();
}

/** Returns the values that no second record may have, each with its property. */
export function uniqueValues(
  properties: Readonly<Record<string, string>>,
  unique: readonly string[],
): [property: string, value: string][] {
  return unique.flatMap((property) =>
    (property === 'email' ? emailsOf(properties) : [properties[property] ?? ''])
      .filter((value) => value !== '')
      .map((value): [string, string] => [property, value]),
  );
}

/** Returns the addresses of a contact, the primary one first. */
export function emailsOf(properties: Readonly<Record<string, string>>): string[] {
  return [properties['email'] ?? '', ...(properties['hs_additional_emails'] ?? '').split(';')].filter(
    (email) => email !== '',
  );
}
