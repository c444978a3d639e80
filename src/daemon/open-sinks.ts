import type { SinkConfig } from '../config/config.ts';
import type { Clock } from '../platform/clock.ts';
import { userAgent } from '../platform/version.ts';
import type { Sink } from '../sinks/sink.ts';
import type { OpenSink } from './deliver.ts';

/** What an attempt may take beyond the destination's own deadline, in ms. */
const OVERHEAD_MS = 5_000;

/** Opens a configured sink. No connection is made yet. */
export function openSink(sink: SinkConfig, clock: Clock): Sink {
  return sink.type.open(sink.options, {
    name: sink.name,
    clock,
    concurrency: sink.concurrency,
    batchMax: sink.batch.max,
    timeoutMs: sink.timeoutMs,
    userAgent,
  });
}

/** Opens sinks for delivery, by name. */
export function openSinks(sinks: readonly SinkConfig[], clock: Clock): ReadonlyMap<string, OpenSink> {
  return new Map(
    sinks.map((sink) => {
      // A batch may be split to find the lead that is refused, which takes several calls.
      const calls = sink.batch.max === 1 ? 1 : 4;
      return [sink.name, { sink: openSink(sink, clock), budgetMs: calls * sink.timeoutMs + OVERHEAD_MS }];
    }),
  );
}
