import { LedgerError } from '../../ledger/contract/ledger-error.ts';
import type { Clock } from '../../platform/time/clock.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';

const AFTER_FAULT_MS = 1_000;

/**
 * The loops of a daemon. Each runs until `stop`. If a loop throws, `Loops` reports the error and restarts that loop; the others continue.
 */
export class Loops {
  readonly #clock: Clock;
  readonly #telemetry: Pick<Telemetry, 'emit' | 'logger'>;
  readonly #stopping = new AbortController();
  readonly #running: Promise<void>[] = [];

  constructor(clock: Clock, telemetry: Pick<Telemetry, 'emit' | 'logger'>) {
    this.#clock = clock;
    this.#telemetry = telemetry;
  }

  /** Aborts when the loops must end. */
  get signal(): AbortSignal {
    return this.#stopping.signal;
  }

  /**
   * Runs a loop until it returns or is stopped, and restarts it after a fault. The log names the loop by `doing`, such as `polling main`.
   */
  start(doing: string, run: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const loop = this.#keepGoing(doing, run);
    this.#running.push(loop);
    return loop;
  }

  /** Makes all loops end. */
  stop(): void {
    this.#stopping.abort();
  }

  /** Resolves when all loops have ended. */
  async ended(): Promise<void> {
    await Promise.allSettled(this.#running);
  }

  async #keepGoing(doing: string, run: (signal: AbortSignal) => Promise<void>): Promise<void> {
    for (;;) {
      try {
        return await run(this.signal);
      } catch (error) {
        if (this.signal.aborted) return;
        this.#report(doing, error);
        await this.#clock.sleep(AFTER_FAULT_MS, this.signal);
      }
    }
  }

  #report(operation: string, error: unknown): void {
    const { emit, logger } = this.#telemetry;
    if (error instanceof LedgerError)
      emit({ type: 'ledger-failed', operation, reason: error.message, hint: error.hint });
    else logger.fault(operation, error);
  }
}
