import type { Clock } from '../../../src/platform/time/clock.ts';
import type { Deal, Lead } from './records.ts';
import type { PipedriveSettings } from './settings.ts';

/** A lead or deal as the index has it. */
export type IndexedRecord =
  | { readonly type: 'lead'; readonly record: Lead }
  | { readonly type: 'deal'; readonly record: Deal };

interface Change {
  readonly atMs: number;
  readonly name: string;
  /** Undefined if the record was deleted. */
  readonly indexed: IndexedRecord | undefined;
}

/** The index of leads and deals of `/itemSearch`, which follows the records by `searchLagMs`. */
export class RecordSearch {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #settings: PipedriveSettings;
  readonly #indexed = new Map<string, IndexedRecord>();
  #changes: Change[] = [];

  constructor(clock: Pick<Clock, 'monotonicMs'>, settings: PipedriveSettings) {
    this.#clock = clock;
    this.#settings = settings;
  }

  /** Records that a lead or deal was stored, changed or deleted. */
  changed(type: 'lead' | 'deal', id: number | string, indexed: IndexedRecord | undefined): void {
    this.#changes.push({ atMs: this.#clock.monotonicMs(), name: `${type} ${id}`, indexed });
  }

  /** Returns the leads and deals of the index with this text in a custom field. A match ignores case. */
  find(term: string, exact: boolean): IndexedRecord[] {
    this.#catchUp();
    const wanted = term.toLowerCase();
    return [...this.#indexed.values()].filter(({ record }) =>
      Object.values(record.custom_fields).some(
        (value) =>
          typeof value === 'string' &&
          (exact ? value.toLowerCase() === wanted : value.toLowerCase().includes(wanted)),
      ),
    );
  }

  #catchUp(): void {
    const untilMs = this.#clock.monotonicMs() - this.#settings.searchLagMs;
    const later = this.#changes.findIndex(({ atMs }) => atMs > untilMs);
    const due = later < 0 ? this.#changes : this.#changes.slice(0, later);
    this.#changes = later < 0 ? [] : this.#changes.slice(later);
    for (const { name, indexed } of due) {
      if (indexed) this.#indexed.set(name, indexed);
      else this.#indexed.delete(name);
    }
  }
}
