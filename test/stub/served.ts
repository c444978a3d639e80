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

  constructor(shown: ShownLeads) {
    this.#shown = shown;
  }

  record(elements: Iterable<Element>): void {
    for (const element of elements) {
      if ('raw' in element) this.#raw.add(element.raw);
      else if (element.version === 1) this.#first.add(element.id);
      else this.#recordLater(element.id, element.version);
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

  /** The JSON text of a served version, byte for byte; its latest one when none is named. Undefined when not served. */
  text(id: number, version = this.versions(id).at(-1)): string | undefined {
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
