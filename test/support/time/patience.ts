import { readFileSync } from 'node:fs';

/**
 * Time that a test is ready to wait, in ms: it runs only while no process of this machine has to wait for a CPU, as far as the
 * kernel tells that (https://docs.kernel.org/accounting/psi.html). So a busy machine makes a test slower, and not red.
 */
export class Patience {
  readonly #since = performance.now();
  readonly #stalledBefore = stalledMs();

  /** How much of it has been used up. */
  get spentMs(): number {
    return performance.now() - this.#since - (stalledMs() - this.#stalledBefore);
  }
}

/** For how long some process of this machine has waited for a CPU since it was started; 0 where the kernel does not tell. */
function stalledMs(): number {
  try {
    const pressure = readFileSync('/proc/pressure/cpu', 'utf8');
    return Number(/^some .*total=(\d+)/m.exec(pressure)?.[1] ?? 0) / 1_000;
  } catch {
    return 0;
  }
}
