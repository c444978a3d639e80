import type { Batch } from '../../src/leads/delivery.ts';
import type { MappedValue } from '../../src/leads/mapped-fields.ts';
import type { Sink } from '../../src/sinks/sink.ts';

type Values = Readonly<Record<string, MappedValue>>;

/** Returns a batch whose leads have values for the options of a sink, where they have none yet, as a mapping makes them. */
function withValues(batch: Batch, values: Values): Batch {
  const perLead = new Map(Object.entries(values));
  return { ...batch, deliveries: batch.deliveries.map((delivery) => ({ perLead, ...delivery })) };
}

/** Returns a sink that gives each lead these values, as the mapping of a configuration does. */
export function givingValues(sink: Sink, values: Values): Sink {
  return {
    check: (signal) => sink.check(signal),
    deliver: (batch, signal, attempt) => sink.deliver(withValues(batch, values), signal, attempt),
    test: (batch, signal) => sink.test(withValues(batch, values), signal),
    preview: (batch) => sink.preview(withValues(batch, values)),
    close: () => sink.close(),
  };
}
