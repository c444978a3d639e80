import { defineSink } from '../sink-type.ts';
import { kafkaOptions, optionFaults, optionWarnings } from './options.ts';

/** Writes one record per lead. Kafka does not recognise repeats from another process; consumers recognise them by the header `webhook-id`. */
export const kafka = defineSink({
  type: 'kafka',
  summary: 'Writes leads as records to a Kafka topic, in order for each lead.',
  get options() {
    return kafkaOptions();
  },
  perLead: {
    topic_by: {
      means:
        'An expression for the topic of each lead: `"leads." + lead.service_slug`. A lead for which the expression has no value goes to `topic`, and so does every `erased` event.',
      fault: () => 'must be an expression; the name of one topic goes into `topic`',
    },
  },
  place: ['brokers', 'topic'],
  faults: optionFaults,
  warnings: optionWarnings,
  checked: () => 'The topic accepts records; none was written.',
  defaults: {
    events: ['created', 'erased'],
    batchMax: 500,
    batchWaitMs: 0,
    concurrency: 4,
    timeoutMs: 15_000,
  },
  setup: {
    option: 'brokers',
    question: 'the Kafka brokers, separated by commas',
    standard: 'localhost:9092',
    entry: (brokers) => `  stream:                            # a record for each lead in a Kafka topic
    type: kafka
    brokers: ${brokers}
    topic: leads
`,
  },
  load: async () => {
    const { KafkaSink } = await import('./kafka.ts');
    return (options, parts) => new KafkaSink(options, parts);
  },
});
