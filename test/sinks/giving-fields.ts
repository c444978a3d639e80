import type { Batch } from '../../src/leads/delivery.ts';
import { CompiledMappings } from '../../src/mapping/compiled-mappings.ts';
import { mapDelivery } from '../../src/mapping/map-delivery.ts';
import { Mapping } from '../../src/mapping/mapping.ts';
import { type FieldRule, textOf } from '../../src/mapping/mapping-definition.ts';
import type { Sink } from '../../src/sinks/sink.ts';
import type { StandardField } from '../../src/sinks/sink-type.ts';

/** Returns the rules of a mapping: the standard fields of a type of sink, and others as expressions. */
export function rulesOf(
  standard: Readonly<Record<string, StandardField>>,
  others: Readonly<Record<string, string>> = {},
): Readonly<Record<string, FieldRule>> {
  const fields: [string, StandardField][] = [
    ...Object.entries(standard),
    ...Object.entries(others).map(([name, from]): [string, StandardField] => [name, { from }]),
  ];
  return Object.fromEntries(
    fields.map(([name, { from, once = false, max }]) => [name, { from, once, max, invalid: 'drop' }]),
  );
}

/** Returns a sink whose leads have the fields of a mapping, as the configuration makes them. */
export function givingFields(sink: Sink, fields: Readonly<Record<string, FieldRule>>): Sink {
  const mappings = new CompiledMappings(() => undefined);
  const mapping = textOf({ fields, region: 'AU' });
  const compiled = Mapping.compile({ fields, region: 'AU' }, undefined);
  if (!(compiled instanceof Mapping)) throw new Error(JSON.stringify(compiled));
  const columns = compiled.columns ?? [];
  const mapped = (batch: Batch): Batch => {
    const deliveries = batch.deliveries.map((delivery) => {
      const one = mapDelivery(delivery, { ...batch, mapping }, mappings);
      if (!('raw' in one)) throw new Error(one.reason);
      return one;
    });
    return { ...batch, mapping, columns, deliveries };
  };
  return {
    check: (signal, others = []) => sink.check(signal, [...columns, ...others]),
    missingParts: async (signal, others = []) =>
      (await sink.missingParts?.(signal, [...columns, ...others])) ?? [],
    destinationFields: async (signal) => (await sink.destinationFields?.(signal)) ?? [],
    deliver: (batch, signal, attempt) => sink.deliver(mapped(batch), signal, attempt),
    test: (batch, signal) => sink.test(mapped(batch), signal),
    preview: (batch) => sink.preview(mapped(batch)),
    ...(sink.storedLeads && {
      storedLeads: (signal) => (sink.storedLeads as NonNullable<Sink['storedLeads']>)(signal),
    }),
    ...(sink.quota && { quota: () => sink.quota?.() }),
    ...(sink.erase && {
      erase: (person, signal) => (sink.erase as NonNullable<Sink['erase']>)(person, signal),
    }),
    ...(sink.quota && { quota: () => sink.quota?.() }),
    close: () => sink.close(),
  };
}
