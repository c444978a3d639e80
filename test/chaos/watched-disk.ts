import { SmallDisk } from '../support/files/small-disk.ts';
import type { Spell } from './deed.ts';

/** A disk that records when it was full. */
export class WatchedDisk extends SmallDisk {
  /** Times by `performance.now()`. */
  readonly fullSpells: Spell[] = [];
  #fullSinceMs: number | undefined;

  override fill(): void {
    const nowMs = performance.now();
    super.fill();
    this.#fullSinceMs ??= nowMs;
  }

  override free(): void {
    super.free();
    if (this.#fullSinceMs !== undefined)
      this.fullSpells.push({ fromMs: this.#fullSinceMs, toMs: performance.now() });
    this.#fullSinceMs = undefined;
  }
}
