import type { Config, SinkConfig } from '../config/contract/config.ts';
import type { Batch } from '../leads/delivery.ts';
import { CompiledMappings } from '../mapping/compiled-mappings.ts';
import { columnsOf, mapDelivery } from '../mapping/map-delivery.ts';
import { textOf } from '../mapping/mapping-definition.ts';
import type { Clock } from '../platform/time/clock.ts';
import type { TestResult } from '../sinks/sink.ts';
import { SinkUnavailable } from '../sinks/sink-unavailable.ts';
import { testBatch } from '../sinks/test-batch.ts';
import { openSink } from './opening/open-sinks.ts';

/** Result of a test event, and how long the test took. */
export interface SinkTestResult extends TestResult {
  readonly durationMs: number;
}

/**
 * Sends one test event through a configured sink, whether the sink is enabled or not. Does not use the ledger.
 * @throws Error if the sink does not exist; the caller must check that first
 */
export async function testSink(
  { sinks, clientKey, publicUrl }: Pick<Config, 'sinks' | 'clientKey' | 'publicUrl'>,
  name: string,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<SinkTestResult> {
  const config = sinks.find((sink) => sink.name === name);
  if (!config) throw new Error('there is no such sink');
  const sink = await openSink(config, clock, () => publicUrl);
  const startMs = clock.monotonicMs();
  try {
    const batch = mapTest(testBatch(name, clock.now()), config, clientKey);
    const tested =
      typeof batch === 'string'
        ? { arrived: false, what: batch }
        : await sink.test(batch, signal).catch(unavailable);
    return { ...tested, durationMs: Math.round(clock.monotonicMs() - startMs) };
  } finally {
    await sink.close();
  }
}

/**
 * Returns the test batch with the values from the sink's mapping, whatever `where` says. If an expression fails for the test lead, returns a
 * sentence.
 */
function mapTest(
  batch: Batch,
  { mapping: definition }: SinkConfig,
  clientKey: Config['clientKey'],
): Batch | string {
  if (definition?.fields === undefined && definition?.perLead === undefined) return batch;
  const mapping = textOf({ ...definition, where: undefined });
  const mappings = new CompiledMappings(() => clientKey);
  const mapped = batch.deliveries.map((delivery) => mapDelivery(delivery, { ...batch, mapping }, mappings));
  const failed = mapped.find((one) => 'kind' in one);
  return failed
    ? `The mapping does not accept the test lead, which contains no client answers. ${failed.reason}`
    : {
        ...batch,
        columns: columnsOf(batch.deliveries, { mapping }, mappings),
        deliveries: mapped.filter((one) => 'raw' in one),
      };
}

function unavailable(error: unknown): TestResult {
  if (!(error instanceof SinkUnavailable)) throw error;
  return { arrived: false, what: [error.message, error.hint].filter(Boolean).join(' ') };
}
