import { LedgerError } from '../../ledger/contract/ledger-error.ts';
import type { HeldDuty } from '../../ledger/contract/machines.ts';
import type { Clock } from '../../platform/time/clock.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';
import type { Duties, Duty } from '../duties/duties.ts';

const AFTER_FAULT_MS = 1_000;

/** What loops work with. */
interface LoopParts {
  readonly clock: Clock;
  readonly telemetry: Pick<Telemetry, 'emit' | 'logger'>;
  readonly duties: Duties;
}

/** A loop, which runs until it returns or its signal aborts. */
export type Loop = (signal: AbortSignal) => Promise<void>;

/** A loop that runs while its process holds a duty. */
export type DutyLoop = (signal: AbortSignal, held: HeldDuty) => Promise<void>;

/** When a loop gives its duty up for another process: wherever its signal finds it, or at a quiet place that it finds by `HeldDuty.retiring`. */
type Yielding = 'anywhere' | 'when-quiet';

/**
 * The loops of a daemon. Each runs until it returns, or until `stop`. If a loop throws, `Loops` reports the error and restarts that loop; the
 * others continue.
 */
export class Loops {
  readonly #parts: LoopParts;
  readonly #stopping = new AbortController();
  readonly #retiring = new AbortController();
  readonly #running: Promise<void>[] = [];

  constructor(parts: LoopParts) {
    this.#parts = parts;
  }

  /** Aborts when the loops must end. */
  get signal(): AbortSignal {
    return this.#stopping.signal;
  }

  /** Aborts when the loops must end after the work in progress, at the latest when `signal` aborts. */
  get retiring(): AbortSignal {
    return this.#retiring.signal;
  }

  /**
   * Runs a loop until it returns or is stopped, and restarts it after a fault. The log names the loop by `doing`, such as `releasing memory`.
   */
  start(doing: string, run: Loop): Promise<void> {
    return this.#track(this.#keepGoing(doing, run, this.signal));
  }

  /**
   * Runs a loop as `start` does, but only while this process holds `duty`: the loop's signal also aborts when the duty is lost, or is to be given up,
   * and the loop runs again when the process takes the duty again. The promise resolves when the loop returns while the duty is held, when it is
   * stopped, or, if it is waiting for its duty, when it is retired.
   */
  startWhileHeld(duty: Duty, doing: string, run: DutyLoop, yielding: Yielding = 'anywhere'): Promise<void> {
    return this.#track(this.#keepHolding(duty, doing, run, yielding));
  }

  /** Prevents loops that still wait for their duty from starting. Each running loop must end by itself when `retiring` aborts. */
  retire(): void {
    this.#retiring.abort();
  }

  /** Makes all loops end. */
  stop(): void {
    this.#stopping.abort();
    this.#retiring.abort();
  }

  /** Resolves when all loops have ended. */
  async ended(): Promise<void> {
    await Promise.allSettled(this.#running);
  }

  #track(loop: Promise<void>): Promise<void> {
    this.#running.push(loop);
    return loop;
  }

  #keepHolding(duty: Duty, doing: string, run: DutyLoop, yielding: Yielding): Promise<void> {
    const work = async (held: HeldDuty, lost: AbortSignal) => {
      if (this.retiring.aborted) return;
      const ends = [this.signal, lost, ...(yielding === 'anywhere' ? [held.retiring] : [])];
      await untilAny(ends, (signal) => this.#keepGoing(doing, (ending) => run(ending, held), signal));
    };
    return this.#parts.duties.whileHeld(duty, work, this.retiring);
  }

  async #keepGoing(doing: string, run: Loop, signal: AbortSignal): Promise<void> {
    for (;;) {
      try {
        return await run(signal);
      } catch (error) {
        if (signal.aborted) return;
        this.#report(doing, error);
        await this.#parts.clock.sleep(AFTER_FAULT_MS, signal);
      }
    }
  }

  #report(operation: string, error: unknown): void {
    const { emit, logger } = this.#parts.telemetry;
    if (error instanceof LedgerError)
      emit({ type: 'ledger-failed', operation, reason: error.message, hint: error.hint });
    else logger.fault(operation, error);
  }
}

/** Runs `work` with a signal that aborts when one of the others does. */
async function untilAny(signals: readonly AbortSignal[], work: Loop): Promise<void> {
  // Not `AbortSignal.any`: dispatch listens to its signal for every delivery, and listening to a dependent signal costs more.
  const any = new AbortController();
  const end = () => any.abort();
  if (signals.some(({ aborted }) => aborted)) end();
  for (const signal of signals) signal.addEventListener('abort', end, { once: true });
  try {
    await work(any.signal);
  } finally {
    for (const signal of signals) signal.removeEventListener('abort', end);
  }
}
