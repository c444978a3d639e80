import type { SinkConfig } from '../config/contract/config.ts';
import type { Delivery } from '../leads/delivery.ts';
import type { Clock } from '../platform/time/clock.ts';
import type { Preview } from '../sinks/sink.ts';
import { openSink } from './opening/open-sinks.ts';

/** What a sink would send of a delivery at this moment, as a batch of its own. Sends nothing. */
export async function preview(
  config: SinkConfig,
  delivery: Delivery,
  clock: Clock,
): Promise<readonly Preview[]> {
  const sink = openSink(config, clock);
  try {
    // The number of a batch is not known before there is one.
    const batch = { id: 'preview', sink: config.name, createdAt: clock.now(), deliveries: [delivery] };
    return sink.preview(batch);
  } finally {
    await sink.close();
  }
}
