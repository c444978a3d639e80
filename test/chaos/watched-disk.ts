import { SmallDisk } from '../support/files/small-disk.ts';
import { SpellRecord } from './spell-record.ts';

/** A disk that records when it was full. */
export class WatchedDisk extends SmallDisk {
  readonly full = new SpellRecord();

  override fill(): void {
    const nowMs = performance.now();
    super.fill();
    this.full.begin(nowMs);
  }

  override free(): void {
    super.free();
    this.full.end();
  }
}
