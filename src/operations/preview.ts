import type { Config, SinkConfig } from '../config/contract/config.ts';
import type { Delivery } from '../leads/delivery.ts';
import { CompiledMappings } from '../mapping/compiled-mappings.ts';
import { textOf } from '../mapping/definition.ts';
import { columnsOf, mapDelivery } from '../mapping/map-delivery.ts';
import type { Clock } from '../platform/time/clock.ts';
import type { Preview } from '../sinks/sink.ts';
import { openSink } from './opening/open-sinks.ts';

/** What a sink would send for a delivery, or why it would send nothing. */
export type PreviewResult = { readonly previews: readonly Preview[] } | { readonly withheld: string };

/** Returns what a sink would send for a delivery now, as a batch of one. Sends nothing. */
export async function preview(
  config: SinkConfig,
  delivery: Delivery,
  { clock, clientKey, publicUrl }: { readonly clock: Clock } & Pick<Config, 'clientKey' | 'publicUrl'>,
): Promise<PreviewResult> {
  const ofSink = { sink: config.name, mapping: config.mapping && textOf(config.mapping) };
  const mappings = new CompiledMappings(() => clientKey);
  const mapped = mapDelivery(delivery, ofSink, mappings);
  if (!('raw' in mapped)) return { withheld: mapped.reason };
  const sink = openSink(config, clock, () => publicUrl);
  try {
    // There is no batch yet, so this id replaces its real one.
    const columns = columnsOf(ofSink, mappings);
    const batch = { id: 'preview', sink: config.name, createdAt: clock.now(), columns, deliveries: [mapped] };
    return { previews: sink.preview(batch) };
  } finally {
    await sink.close();
  }
}
