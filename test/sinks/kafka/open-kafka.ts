import type { z } from 'zod';
import { KafkaSink } from '../../../src/sinks/kafka/kafka.ts';
import { kafka } from '../../../src/sinks/kafka/kafka-type.ts';
import type { Sink } from '../../../src/sinks/sink.ts';
import type { SinkParts } from '../../../src/sinks/sink-type.ts';
import { someParts } from '../some-parts.ts';

/** Opens a kafka sink for the topic `leads` from options as they stand in the YAML. */
export function openKafka(
  options: Omit<z.input<typeof kafka.options>, 'topic'> & { readonly topic?: string },
  parts: Partial<SinkParts> = {},
): Sink {
  const parsed = kafka.options.parse({ topic: 'leads', ...options });
  return new KafkaSink(parsed, someParts({ batchMax: 500, timeoutMs: 60_000, ...parts }));
}
