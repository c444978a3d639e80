import type { Element, ShownLeads } from './shown-leads.ts';

/**
 * What readable listings that were sent to their end have contained: the truth that every sink is compared with.
 * Texts are not kept but made again, so a million leads cost little.
 */
export class Served {
  readonly #shown: ShownLeads;
  readonly #first = new Set<number>();
  readonly #later = new Map<number, Set<number>>();
  readonly #raw = new Set<string>();
  /** What was served last of leads that were changed. */
  readonly #newest = new Map<number, number>();
  #revision = 0;

  constructor(shown: ShownLeads) {
    this.#shown = shown;
  }

  /** Of listings that are sent at the same time the one of the higher revision is the newer one. */
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

  /** Generated leads that were served in any version, ascending. */
  ids(): number[] {
    return [...new Set([...this.#first, ...this.#later.keys()])].sort((a, b) => a - b);
  }

  has(id: number): boolean {
    return this.#first.has(id) || this.#later.has(id);
  }

  /** The versions of a lead that were served, ascending. A version that was replaced unseen is not among them. */
  versions(id: number): number[] {
    const later = [...(this.#later.get(id) ?? [])].sort((a, b) => a - b);
    return this.#first.has(id) ? [1, ...later] : later;
  }

  /** The version of a lead that was served last; undefined when none was. */
  newest(id: number): number | undefined {
    return this.#newest.get(id) ?? this.versions(id)[0];
  }

  /** Every version of a lead that was shown, served or not, one after the other: one that came back stands there again. */
  history(id: number): readonly number[] {
    return this.#shown.history(id);
  }

  /** The JSON text of a served version, byte for byte; its newest one when none is named. Undefined when not served. */
  text(id: number, version = this.newest(id)): string | undefined {
    return version !== undefined && this.versions(id).includes(version)
      ? this.#shown.text(id, version)
      : undefined;
  }

  /** Elements that are no generated leads (`addRaw`, and those of misbehaviours), byte for byte. */
  raw(): string[] {
    return [...this.#raw];
  }

  #recordLater(id: number, version: number): void {
    const versions = this.#later.get(id);
    if (versions === undefined) this.#later.set(id, new Set([version]));
    else versions.add(version);
  }
}
