import type { Batch, Delivery } from '../../leads/delivery.ts';
import { mappedText } from '../../leads/mapped-fields.ts';
import type { Outcome, Refused } from '../../leads/outcome.ts';
import { LazyResource } from '../../platform/process/lazy-resource.ts';
import type { EventKind } from '../lead-event.ts';
import { type AttemptUnderWay, type Preview, type Sink, type TestResult, WITHOUT_LEASE } from '../sink.ts';
import type { SinkParts } from '../sink-type.ts';
import type { Cluster } from './cluster.ts';
import { isTopic, type KafkaOptions } from './options.ts';
import { recordOf } from './record.ts';
import type { Item } from './write-records.ts';

const NO_TOPIC: Refused = {
  kind: 'refused',
  reason: 'The expression `topic_by` gives no valid topic name for this lead.',
  unsent: true,
};

/** Writes the records of a batch together. Connects at the first use. */
export class KafkaSink implements Sink {
  readonly #options: KafkaOptions;
  readonly #parts: SinkParts;
  readonly #cluster: LazyResource<Cluster>;

  constructor(options: KafkaOptions, parts: SinkParts) {
    this.#options = options;
    this.#parts = parts;
    this.#cluster = new LazyResource(async () => {
      const { openCluster } = await import('./open-cluster.ts');
      return openCluster(options, parts);
    });
  }

  async check(signal: AbortSignal): Promise<void> {
    const cluster = await this.#cluster.get();
    await cluster.check(this.#options.topic, signal);
  }

  async deliver(
    batch: Batch,
    stop: AbortSignal,
    under: AttemptUnderWay = WITHOUT_LEASE,
  ): Promise<readonly Outcome[]> {
    const items = batch.deliveries.flatMap((delivery) => this.#itemOf(delivery, under.traceparent) ?? []);
    const outcomes = items.length === 0 ? undefined : await this.#write(items, stop, under);
    return batch.deliveries.map((delivery) => outcomes?.get(delivery) ?? NO_TOPIC);
  }

  async test({ deliveries: [delivery] }: Batch, stop: AbortSignal): Promise<TestResult> {
    if (!delivery) throw new Error('a batch is never empty');
    const item = this.#itemOf(delivery, undefined, 'test');
    if (!item)
      return { arrived: false, what: `${NO_TOPIC.reason} The test lead has the service "leadsync-test".` };
    const outcome = (await this.#write([item], stop, WITHOUT_LEASE)).get(delivery);
    if (outcome?.kind !== 'delivered')
      return {
        arrived: false,
        what: outcome && 'reason' in outcome ? outcome.reason : 'No record was written.',
      };
    const where = outcome.ref ? ` at ${outcome.ref.id} (topic, partition, offset)` : '';
    return {
      arrived: true,
      what: `${this.#options.brokers} stored a record of type \`lead.test\` with the header \`webhook-id: ${delivery.id}\`${where}.`,
    };
  }

  preview(batch: Batch): readonly Preview[] {
    return batch.deliveries.map((delivery) => {
      const item = this.#itemOf(delivery, undefined);
      if (!item) return { target: 'no record', fields: {}, content: NO_TOPIC.reason };
      const { key, value, headers } = item.record;
      return {
        target: `record for topic ${item.topic} at ${this.#options.brokers}`,
        fields: { key: key.toString(), ...Object.fromEntries(headers), ...(value ? {} : { value: null }) },
        ...(value && { content: value.toString() }),
      };
    });
  }

  async close(): Promise<void> {
    await this.#cluster.close((cluster) => cluster.close());
  }

  async #write(items: readonly Item[], stop: AbortSignal, under: AttemptUnderWay) {
    const { writeRecords } = await import('./write-records.ts');
    const { clock, timeoutMs } = this.#parts;
    return writeRecords(await this.#cluster.get(), items, { stop, under, timeoutMs, now: clock.now() });
  }

  /** Returns the record of a lead with its topic; undefined if the value of `topic_by` is not a valid topic name. */
  #itemOf(delivery: Delivery, traceparent: string | undefined, kind?: EventKind): Item | undefined {
    const topic = mappedText(delivery.perLead?.get('topic_by')) || this.#options.topic;
    if (!isTopic(topic)) return undefined;
    const { tombstones } = this.#options;
    return {
      delivery,
      topic,
      record: recordOf(delivery, { tombstones, traceparent, kind: kind ?? delivery.event }),
    };
  }
}
