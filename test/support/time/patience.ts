import { readFileSync } from 'node:fs';

/**
 * The time that a test is prepared to wait, in ms. It advances only while no process on this machine waits for a CPU, as far as the kernel
 * reports that (https://docs.kernel.org/accounting/psi.html). A busy machine therefore makes a test slower, not red.
 */
export class Patience {
  readonly #since = performance.now();
  readonly #stalledBefore = stalledMs();

  /** The time used up so far, in ms. */
  get spentMs(): number {
    return performance.now() - this.#since - (stalledMs() - this.#stalledBefore);
  }
}

/** Returns how long processes on this machine have waited for a CPU since boot, in ms; 0 if the kernel does not report it. */
function stalledMs(): number {
  try {
    const pressure = readFileSync('/proc/pressure/cpu', 'utf8');
    return Number(/^some .*total=(\d+)/m.exec(pressure)?.[1] ?? 0) / 1_000;
  } catch {
    return 0;
  }
}
