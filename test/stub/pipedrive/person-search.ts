import type { Clock } from '../../../src/platform/time/clock.ts';
import type { Person } from './records.ts';
import type { PipedriveSettings } from './settings.ts';

/** The fields that a search can look into. */
export type SearchField = 'name' | 'email' | 'phone' | 'custom_fields' | 'notes';

interface Change {
  readonly atMs: number;
  readonly person: Person;
}

/**
 * The index of `/persons/search`. It follows the records by `searchLagMs`: until then it does not find a new person, and still finds a
 * deleted one.
 */
export class PersonSearch {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #settings: PipedriveSettings;
  readonly #indexed = new Map<number, Person>();
  /** The ids by field and text: the exact match needs no scan. */
  readonly #ids = new Map<string, Set<number>>();
  #changes: Change[] = [];

  constructor(clock: Pick<Clock, 'monotonicMs'>, settings: PipedriveSettings) {
    this.#clock = clock;
    this.#settings = settings;
  }

  /** Records that a person was stored, changed or deleted. */
  changed(person: Person): void {
    this.#changes.push({ atMs: this.#clock.monotonicMs(), person });
  }

  /** Returns the persons of the index, by id. A match ignores case. */
  find(term: string, fields: readonly SearchField[], exact: boolean): Person[] {
    this.#catchUp();
    const wanted = term.toLowerCase();
    const ids = exact ? this.#exact(wanted, fields) : this.#containing(wanted, fields);
    return [...ids].sort((a, b) => a - b).flatMap((id) => this.#indexed.get(id) ?? []);
  }

  #exact(wanted: string, fields: readonly SearchField[]): Set<number> {
    const keys = fields.map((field) => `${field} ${this.#normalized(field, wanted)}`);
    return new Set(keys.flatMap((key) => [...(this.#ids.get(key) ?? [])]));
  }

  *#containing(wanted: string, fields: readonly SearchField[]): Iterable<number> {
    for (const [id, person] of this.#indexed) {
      const texts = textsOf(person).filter(([field]) => fields.includes(field));
      if (texts.some(([, text]) => text.toLowerCase().includes(wanted))) yield id;
    }
  }

  #catchUp(): void {
    const untilMs = this.#clock.monotonicMs() - this.#settings.searchLagMs;
    const later = this.#changes.findIndex(({ atMs }) => atMs > untilMs);
    const due = later < 0 ? this.#changes : this.#changes.slice(0, later);
    this.#changes = later < 0 ? [] : this.#changes.slice(later);
    for (const { person } of due) this.#index(person);
  }

  #index(person: Person): void {
    const before = this.#indexed.get(person.id);
    if (before) for (const key of this.#keysOf(before)) this.#ids.get(key)?.delete(person.id);
    this.#indexed.delete(person.id);
    if (person.is_deleted) return;
    this.#indexed.set(person.id, person);
    for (const key of this.#keysOf(person)) {
      const ids = this.#ids.get(key);
      if (ids) ids.add(person.id);
      else this.#ids.set(key, new Set([person.id]));
    }
  }

  #keysOf(person: Person): string[] {
    return textsOf(person).map(([field, text]) => `${field} ${this.#normalized(field, text.toLowerCase())}`);
  }

  #normalized(field: SearchField, text: string): string {
    return field === 'phone' && this.#settings.phoneSearch === 'digits' ? text.replace(/\D/g, '') : text;
  }
}

function textsOf({ name, emails, phones, custom_fields }: Person): [SearchField, string][] {
  return [
    ['name', name],
    ...emails.map(({ value }): [SearchField, string] => ['email', value]),
    ...phones.map(({ value }): [SearchField, string] => ['phone', value]),
    ...Object.values(custom_fields).flatMap((value): [SearchField, string][] =>
      typeof value === 'string' ? [['custom_fields', value]] : [],
    ),
  ];
}
