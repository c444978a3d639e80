import type { Counter } from 'prom-client';
import type { Instruments } from './instruments.ts';

const OUTCOMES = ['sent', 'failed'] as const;

/** Metrics of the destinations of alerts. */
export class AlertMetrics {
  readonly #messages: Counter;

  /** @param destinations names of the destinations in `alerts.to` */
  constructor(make: Instruments, destinations: readonly string[]) {
    this.#messages = make.counter(
      'leadsync_alert_messages_total',
      'Alert messages by destination and outcome. `failed` counts attempts: leadsync sends the message again. Tests do not count.',
      { destination: destinations, outcome: OUTCOMES },
    );
  }

  sent(destination: string): void {
    this.#messages.inc({ destination, outcome: 'sent' });
  }

  failed(destination: string): void {
    this.#messages.inc({ destination, outcome: 'failed' });
  }
}
