import type { DiskSpace } from './problem.ts';

/** Time between two kept measurements, in ms. */
const STEP_MS = 15 * 60_000;
/** Period over which the change is measured, in ms. */
const PERIOD_MS = 24 * 3_600_000;
/** Minimum period from which a change is concluded, in ms. */
const MIN_PERIOD_MS = 3_600_000;

/** The free space of the disk over the last day, in memory: a restart begins again. */
export class DiskTrend {
  #kept: { readonly at: Date; readonly freeBytes: number }[] = [];

  /** Keeps a measurement, if the last one is old enough. If the clock was set back, begins again. */
  keep(at: Date, { freeBytes }: Pick<DiskSpace, 'freeBytes'>): void {
    if (freeBytes === undefined) return;
    const lastMs = this.#kept.at(-1)?.at.getTime();
    if (lastMs !== undefined && lastMs > at.getTime()) this.#kept = [];
    else if (lastMs !== undefined && at.getTime() - lastMs < STEP_MS) return;
    this.#kept.push({ at, freeBytes });
    this.#kept = this.#kept.filter((one) => at.getTime() - one.at.getTime() <= PERIOD_MS);
  }

  /** Returns the free space with its change over the last day, or since leadsync started. The change is undefined in the first hour. */
  of(at: Date, disk: DiskSpace): DiskSpace {
    const [first] = this.#kept;
    const overMs = first ? at.getTime() - first.at.getTime() : 0;
    if (!first || disk.freeBytes === undefined || overMs < MIN_PERIOD_MS) return disk;
    return { ...disk, change: { lostBytes: first.freeBytes - disk.freeBytes, overMs } };
  }
}
