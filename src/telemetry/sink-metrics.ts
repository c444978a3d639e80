import type { EventOf } from './events.ts';
import type { Instruments } from './instruments.ts';

const OUTCOMES = ['delivered', 'refused', 'unavailable', 'dead'];
const BATCH_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 30, 60];
/** From 10 ms to a day: seconds are the promise, hours are what an unavailable destination makes of it. */
const DELIVERY_SECONDS = [
  0.01, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 300, 900, 3600, 14_400, 43_200, 86_400,
];

/** What is measured of each sink as it happens. What waits is in `BacklogMetrics`. */
export class SinkMetrics {
  readonly #deliveries;
  readonly #batchDuration;
  readonly #toDelivery;
  readonly #revived;
  readonly #stale;
  readonly #checks;
  readonly #holds;
  readonly #replaced;

  constructor(make: Instruments, sinks: readonly string[]) {
    const by = { sink: sinks };
    this.#deliveries = make.counter(
      'leadsync_deliveries_total',
      'Attempted deliveries by outcome; `dead` counts those given up, beside the outcome of their last attempt.',
      { ...by, outcome: OUTCOMES },
    );
    this.#batchDuration = make.histogram(
      'leadsync_batch_duration_seconds',
      'How long attempts took, a batch at a time.',
      by,
      BATCH_SECONDS,
    );
    this.#toDelivery = make.histogram(
      'leadsync_lead_to_delivery_seconds',
      'From when what a lead contains was first listed until it was delivered. Replays do not count.',
      by,
      DELIVERY_SECONDS,
    );
    this.#revived = make.counter(
      'leadsync_deliveries_revived_total',
      'Deliveries counted as dead that wait again, because their sink refused everything.',
      by,
    );
    this.#stale = make.counter(
      'leadsync_batches_stale_total',
      'Batches that came, or came back, under a lease that was no longer current.',
      by,
    );
    this.#checks = make.counter('leadsync_sink_check_failures_total', 'Checks of a sink that failed.', by);
    this.#holds = make.counter(
      'leadsync_sink_holds_total',
      'How often the sink was held because its destination does not work; many holds in an hour are a flapping one.',
      by,
    );
    this.#replaced = make.counter(
      'leadsync_worker_replacements_total',
      "Workers of a sink's queue that began nothing while batches waited, and were replaced.",
      by,
    );
  }

  batchSettled(event: EventOf<'batch-settled'>): void {
    const { sink } = event;
    for (const outcome of ['delivered', 'refused', 'unavailable'] as const) {
      this.#deliveries.inc({ sink, outcome }, event[outcome]);
    }
    this.#batchDuration.observe({ sink }, event.durationMs / 1000);
    for (const seconds of event.secondsToDelivery) this.#toDelivery.observe({ sink }, seconds);
  }

  dead(sink: string): void {
    this.#deliveries.inc({ sink, outcome: 'dead' });
  }

  revived(sink: string, count: number): void {
    this.#revived.inc({ sink }, count);
  }

  stale(sink: string): void {
    this.#stale.inc({ sink });
  }

  held(sink: string): void {
    this.#holds.inc({ sink });
  }

  workerReplaced(sink: string): void {
    this.#replaced.inc({ sink });
  }

  checkFailed(sink: string): void {
    this.#checks.inc({ sink });
  }
}
