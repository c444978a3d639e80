import { leadText } from './generated-lead.ts';

/** One element of a listing: a generated lead, or any text of the test's. */
export type Element =
  | { readonly id: number; readonly version: number; readonly createdAt: Date | undefined }
  | { readonly raw: string };

/** Every element that the service shows at one moment. Created once per listing and never changed. */
export interface Snapshot {
  readonly length: number;
  /** Increases with every change to what is shown. */
  readonly revision: number;
  elements(): Iterable<Element>;
}

/** The leads that the service shows now. A million leads take a million numbers. */
export class ShownLeads {
  readonly seed: number;
  readonly #now: () => Date;
  /** Replaced rather than written to while a snapshot shares it: see `#own`. */
  #ids: number[] = [];
  #lent = false;
  #nextId: number;
  #versions = new Map<number, number>();
  /** For leads that changed, every version in the order shown. */
  readonly #history = new Map<number, number[]>();
  #createdAt = new Map<number, Date>();
  #raw: string[] = [];
  #revision = 0;

  constructor(seed: number, firstId: number, now: () => Date) {
    this.seed = seed;
    this.#nextId = firstId;
    this.#now = now;
  }

  get count(): number {
    return this.#ids.length + this.#raw.length;
  }

  /**
   * Shows `count` more leads, with the next ids or with ids from `from` on; ids that are shown already stay as they are.
   * @returns their ids
   */
  add(count: number, { from = this.#nextId, live = true }: { from?: number; live?: boolean } = {}): number[] {
    const added: number[] = [];
    const taken = from < this.#nextId ? new Set(this.#ids) : undefined;
    for (let id = from; id < from + count; id++) if (!taken?.has(id)) added.push(id);
    const ids = this.#own();
    for (const id of added) ids.push(id);
    if (taken !== undefined) ids.sort((a, b) => a - b);
    // A lead that appears while the service runs was created just now, so that its latency can be measured.
    if (live) for (const id of added) if (!this.#createdAt.has(id)) this.#createdAt.set(id, this.#now());
    this.#nextId = Math.max(this.#nextId, from + count);
    this.#revision++;
    return added;
  }

  /** Shows any text as another element of the listing: a lead of the test's own, or something that is not a lead. */
  addRaw(text: string): void {
    this.#raw = [...this.#raw, text];
    this.#revision++;
  }

  /** Changes the content of a lead. @returns its new version */
  change(id: number): number {
    return this.#show(id, Math.max(...this.history(id)) + 1);
  }

  /** Shows a lead's content from before its last change. @returns the version that is shown again */
  changeBack(id: number): number {
    return this.#show(id, this.history(id).at(-2) ?? 1);
  }

  /** Returns every version of a lead in the order shown; a version that was shown again occurs again. */
  history(id: number): readonly number[] {
    return this.#history.get(id) ?? [1];
  }

  #show(id: number, version: number): number {
    if (version === this.version(id)) return version;
    this.#history.set(id, [...this.history(id), version]);
    this.#versions = new Map(this.#versions).set(id, version);
    this.#revision++;
    return version;
  }

  remove(id: number): void {
    this.#ids = this.#ids.filter((other) => other !== id);
    this.#lent = false;
    this.#revision++;
  }

  removeRaw(text: string): void {
    this.#raw = this.#raw.filter((other) => other !== text);
    this.#revision++;
  }

  version(id: number): number {
    return this.#versions.get(id) ?? 1;
  }

  /** Returns the exact text of a version of a lead, shown now or earlier. */
  text(id: number, version = this.version(id)): string {
    return leadText({ seed: this.seed, id, version, createdAt: this.#createdAt.get(id) });
  }

  textOf(element: Element): string {
    return 'raw' in element ? element.raw : leadText({ seed: this.seed, ...element });
  }

  snapshot(): Snapshot {
    this.#lent = true;
    const [ids, versions, raw, createdAt] = [this.#ids, this.#versions, this.#raw, this.#createdAt];
    return {
      length: ids.length + raw.length,
      revision: this.#revision,
      *elements() {
        for (const id of ids) yield { id, version: versions.get(id) ?? 1, createdAt: createdAt.get(id) };
        for (const text of raw) yield { raw: text };
      },
    };
  }

  /** Returns the ids for writing: a copy if a snapshot shares them. */
  #own(): number[] {
    if (this.#lent) this.#ids = [...this.#ids];
    this.#lent = false;
    return this.#ids;
  }
}
