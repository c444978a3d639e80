import { STATUS_CLASSES } from '../leads/outcome.ts';
import type { EventOf } from './events.ts';
import type { Instruments } from './instruments.ts';

const OUTCOMES = ['delivered', 'refused', 'unavailable', 'left_out', 'dead'];
const ATTEMPT_OUTCOMES = ['delivered', 'refused', 'unavailable'] as const;
const BATCH_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 30, 60];
/** Buckets from 10 ms to a day: deliveries normally take seconds, and hours if a destination is unavailable. */
const DELIVERY_SECONDS = [
  0.01, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 300, 900, 3600, 14_400, 43_200, 86_400,
];

/** The metrics of each sink that are updated by events. `BacklogMetrics` contains the metrics of the backlog. */
export class SinkMetrics {
  readonly #deliveries;
  readonly #attempts;
  readonly #answers;
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
      'Results of deliveries by outcome; each attempt counts under one outcome. `refused` and `unavailable`: the attempt failed, and leadsync tries again. `dead`: leadsync gave the delivery up; its last attempt counts only here. `left_out`: the mapping of the sink left the lead out, so there was no attempt.',
      { ...by, outcome: OUTCOMES },
    );
    this.#attempts = make.counter(
      'leadsync_attempts_total',
      'Delivery attempts by result at the destination; each attempt counts once, including the last attempt of a dead delivery.',
      { ...by, outcome: ATTEMPT_OUTCOMES },
    );
    this.#answers = make.counter(
      'leadsync_attempt_answers_total',
      'Delivery attempts by class of the HTTP status that the destination answered with, such as 4xx; each attempt counts once. `none`: no single HTTP answer decided, for example because there was no connection, because the destination is a database, or because a CRM accepted the lead in several requests.',
      { ...by, code: STATUS_CLASSES },
    );
    this.#batchDuration = make.histogram(
      'leadsync_batch_duration_seconds',
      'Duration of attempts, per batch.',
      by,
      BATCH_SECONDS,
    );
    this.#toDelivery = make.histogram(
      'leadsync_lead_to_delivery_seconds',
      'Time from the first listing of a new lead to its delivery. Excludes changes, replays, backfills, and leads that existed when their source was first listed.',
      by,
      DELIVERY_SECONDS,
    );
    this.#revived = make.counter(
      'leadsync_deliveries_revived_total',
      'Dead deliveries that became pending again because their sink refused everything.',
      by,
    );
    this.#stale = make.counter(
      'leadsync_batches_stale_total',
      'Batches whose lease expired before their attempt began, or before leadsync recorded its result.',
      by,
    );
    this.#checks = make.counter('leadsync_sink_check_failures_total', 'Failed checks of a sink.', by);
    this.#holds = make.counter(
      'leadsync_sink_holds_total',
      'Number of times that the sink was held because its destination does not work. Many holds in an hour mean that the destination is flapping.',
      by,
    );
    this.#replaced = make.counter(
      'leadsync_worker_replacements_total',
      "Workers of a sink's queue that were replaced because they started nothing while batches waited.",
      by,
    );
  }

  batchSettled(event: EventOf<'batch-settled'>): void {
    const { sink } = event;
    for (const outcome of ATTEMPT_OUTCOMES) {
      const dead = outcome === 'delivered' ? 0 : event.dead[outcome];
      this.#attempts.inc({ sink, outcome }, event[outcome]);
      this.#deliveries.inc({ sink, outcome }, event[outcome] - dead);
    }
    for (const code of STATUS_CLASSES) this.#answers.inc({ sink, code }, event.answers[code]);
    this.#deliveries.inc({ sink, outcome: 'left_out' }, event.leftOut);
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
