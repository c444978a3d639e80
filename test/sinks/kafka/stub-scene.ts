import { onTestFinished } from 'vitest';
import type { Delivery } from '../../../src/leads/delivery.ts';
import type { Outcome } from '../../../src/leads/outcome.ts';
import type { Sink } from '../../../src/sinks/sink.ts';
import type { SinkParts } from '../../../src/sinks/sink-type.ts';
import { SinkUnavailable } from '../../../src/sinks/sink-unavailable.ts';
import { aBatch, aDelivery } from '../../support/scene/a-delivery.ts';
import { type KafkaStub, startKafkaStub } from './kafka-stub.ts';
import { openKafka } from './open-kafka.ts';

/** Never aborts. */
export const NEVER = new AbortController().signal;

type Options = Partial<Parameters<typeof openKafka>[0]>;

/** Starts a stub that ends with the test. */
export async function startStub(options: Parameters<typeof startKafkaStub>[0] = {}): Promise<KafkaStub> {
  const stub = await startKafkaStub(options);
  onTestFinished(() => stub.close());
  return stub;
}

/** Opens a sink that ends with the test. */
export function open(
  stub: Pick<KafkaStub, 'address'>,
  options: Options = {},
  parts: Partial<SinkParts> = {},
): Sink {
  const sink = openKafka({ brokers: stub.address, ...options }, parts);
  onTestFinished(() => sink.close());
  return sink;
}

/** Returns the failure of `work`. */
export async function failureOf(work: Promise<unknown>): Promise<SinkUnavailable> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof SinkUnavailable)) throw new Error(`it did not fail as expected: ${error}`);
  return error;
}

/** Returns deliveries of leads with ids from 1. */
export function leads(count: number): readonly Delivery[] {
  return Array.from({ length: count }, (_, index) => aDelivery({ leadId: BigInt(index + 1) }));
}

/** Delivers to the sink, 30 leads if the test does not say which. */
export function deliver(
  sink: Sink,
  deliveries: readonly Delivery[] = leads(30),
): Promise<readonly Outcome[]> {
  return sink.deliver(aBatch(deliveries), NEVER);
}
