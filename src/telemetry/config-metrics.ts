import type { EventOf } from './events.ts';
import type { Instruments } from './instruments.ts';

/** Metrics of the configuration in force. */
export class ConfigMetrics {
  readonly #now: () => Date;
  readonly #generation;
  readonly #stale;
  readonly #lastSuccess;
  readonly #failures;

  constructor(make: Instruments, now: () => Date) {
    this.#now = now;
    this.#generation = make.gauge(
      'leadsync_config_generation',
      'Sequence number of the configuration in force: 1 when leadsync starts, one higher after each reload.',
    );
    this.#stale = make.gauge(
      'leadsync_config_stale',
      '1 while the configuration in force differs from the file because a reload failed.',
    );
    this.#lastSuccess = make.gauge(
      'leadsync_config_last_load_success_timestamp_seconds',
      'Time of the last successful load of the configuration, at the start or by a reload.',
    );
    this.#failures = make.counter('leadsync_config_reload_failures_total', 'Reloads that failed.');
    this.#inForce(1);
  }

  reloaded({ generation }: EventOf<'reloaded'>): void {
    this.#inForce(generation);
  }

  failed(): void {
    this.#stale.set(1);
    this.#failures.inc();
  }

  #inForce(generation: number): void {
    this.#generation.set(generation);
    this.#stale.set(0);
    this.#lastSuccess.set(this.#now().getTime() / 1000);
  }
}
