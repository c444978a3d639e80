import type { Element, ShownLeads } from './shown-leads.ts';

/**
 * The content of every readable listing that was sent to its end: the truth with which every sink is compared. Generates texts again
 * instead of keeping them, so that a million leads cost little memory.
 */
export class Served {
  readonly #shown: ShownLeads;
  readonly #first = new Set<number>();
  readonly #later = new Map<number, Set<number>>();
  readonly #raw = new Set<string>();
  /** The last served version of each lead that changed. */
  readonly #newest = new Map<number, number>();
  #revision = 0;

  constructor(shown: ShownLeads) {
    this.#shown = shown;
  }

  /** Of two listings sent at the same time, the one with the higher revision is the newer. */
  record(elements: Iterable<Element>, revision: number): void {
    const isNewest = revision >= this.#revision;
    if (isNewest) this.#revision = revision;
    for (const element of elements) {
      if ('raw' in element) {
        this.#raw.add(element.raw);
        continue;
      }
      const { id, version } = element;
      if (version === 1) this.#first.add(id);
      else this.#recordLater(id, version);
      if (isNewest && (version > 1 || this.#newest.has(id))) this.#newest.set(id, version);
    }
  }

  /** Returns the generated leads that were served in any version, ascending. */
  ids(): number[] {
    return [...new Set([...this.#first, ...this.#later.keys()])].sort((a, b) => a - b);
  }

  has(id: number): boolean {
    return this.#first.has(id) || this.#later.has(id);
  }

  /** Returns the served versions of a lead, ascending. A version that changed before any listing served it is not included. */
  versions(id: number): number[] {
    const later = [...(this.#later.get(id) ?? [])].sort((a, b) => a - b);
    return this.#first.has(id) ? [1, ...later] : later;
  }

  /** Returns the last served version of a lead; undefined if none was served. */
  newest(id: number): number | undefined {
    return this.#newest.get(id) ?? this.versions(id)[0];
  }

  /** Returns every version of a lead in the order shown, served or not; a version that was shown again occurs again. */
  history(id: number): readonly number[] {
    return this.#shown.history(id);
  }

  /** Returns the JSON text of a served version, byte for byte; the newest by default. Undefined if it was not served. */
  text(id: number, version = this.newest(id)): string | undefined {
    return version !== undefined && this.versions(id).includes(version)
      ? this.#shown.text(id, version)
      : undefined;
  }

  /** Returns the JSON texts of every version of a lead that was shown, also of one that only a listing that broke off has contained. */
  shownTexts(id: number): string[] {
    return [...new Set(this.history(id))].map((version) => this.#shown.text(id, version));
  }

  /** Returns the elements that are not generated leads (`addRaw`, and those of misbehaviours), byte for byte. */
  raw(): string[] {
    return [...this.#raw];
  }

  #recordLater(id: number, version: number): void {
    const versions = this.#later.get(id);
    if (versions === undefined) this.#later.set(id, new Set([version]));
    else versions.add(version);
  }
}
