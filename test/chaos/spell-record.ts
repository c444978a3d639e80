import type { Spell } from './deed.ts';

/** Records when something was in trouble. Times are by `performance.now()`. */
export class SpellRecord {
  readonly #past: Spell[] = [];
  #sinceMs: number | undefined;

  /** The troubles so far. One that has not ended lasts until now. */
  get all(): readonly Spell[] {
    if (this.#sinceMs === undefined) return this.#past;
    return [...this.#past, { fromMs: this.#sinceMs, toMs: performance.now() }];
  }

  /** Notes that a trouble begins, unless one lasts already. */
  begin(atMs = performance.now()): void {
    this.#sinceMs ??= atMs;
  }

  end(): void {
    if (this.#sinceMs !== undefined) this.#past.push({ fromMs: this.#sinceMs, toMs: performance.now() });
    this.#sinceMs = undefined;
  }

  /** Whether there was a trouble at any time since then. */
  hasAnySince(sinceMs: number): boolean {
    return this.all.some(({ toMs }) => toMs >= sinceMs);
  }
}
