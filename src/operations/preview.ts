import type { SinkConfig } from '../config/contract/config.ts';
import type { Delivery } from '../leads/delivery.ts';
import type { Clock } from '../platform/time/clock.ts';
import type { Preview } from '../sinks/sink.ts';
import { openSink } from './opening/open-sinks.ts';

/** Returns what a sink would send for a delivery now, as a batch of one. Sends nothing. */
export async function preview(
  config: SinkConfig,
  delivery: Delivery,
  clock: Clock,
): Promise<readonly Preview[]> {
  const sink = openSink(config, clock);
  try {
    // There is no batch yet, so this id replaces its real one.
    const batch = { id: 'preview', sink: config.name, createdAt: clock.now(), deliveries: [delivery] };
    return sink.preview(batch);
  } finally {
    await sink.close();
  }
}
