import type { Batch, Delivery } from '../leads/delivery.ts';
import type { MappedColumn, MappedType } from '../leads/mapped-fields.ts';
import { LEFT_OUT, type LeftOut, type Refused, type Unavailable } from '../leads/outcome.ts';
import type { Secret } from '../platform/options/secret.ts';
import { CompiledMappings } from './compiled-mappings.ts';
import type { OnEvaluated } from './mapping.ts';
import { type MappingDefinition, textOf } from './mapping-definition.ts';

const NOT_COMPILED =
  'leadsync cannot use the mapping with which the lead may have been sent before: its text was lost, it needs another version of leadsync, or it uses hash() and `store.client_key` is not set. `leadsync replay` sends the lead under the current mapping.';

/** Whether `mapDelivery` may change or withhold a lead of a batch. */
export function isMapped({ mapping, deliveries }: Pick<Batch, 'mapping' | 'deliveries'>): boolean {
  return mapping !== undefined || deliveries.some(({ formerMapping }) => formerMapping !== undefined);
}

/**
 * Returns the fields of a batch's deliveries with their types, from the mapping of each delivery, in the order of the deliveries. A repeat thus has
 * the same fields even if the sink's mapping has changed. Returns undefined if all leads go as received.
 */
export function columnsOf(
  deliveries: readonly Pick<Delivery, 'formerMapping'>[],
  batch: Pick<Batch, 'mapping'>,
  mappings: CompiledMappings,
): readonly MappedColumn[] | undefined {
  const texts = new Set(deliveries.map((delivery) => textFor(delivery, batch)));
  const compiled = [...texts].flatMap((text) => (text === null ? [] : (mappings.get(text)?.columns ?? [])));
  const types = new Map<string, MappedType>();
  for (const { name, type } of compiled) types.set(name, typeOfBoth(types.get(name) ?? type, type));
  return types.size > 0 ? [...types].map(([name, type]) => ({ name, type })) : undefined;
}

/** Returns the type of a column that has to hold values of two types. */
function typeOfBoth(one: MappedType, other: MappedType): MappedType {
  if (one === other) return one;
  return [one, other].every((type) => type === 'bigint' || type === 'double') ? 'double' : 'text';
}

/** Returns the text of a delivery's mapping: the mapping under which it may have arrived, otherwise that of its batch; null if there is none. */
function textFor(
  { formerMapping }: Pick<Delivery, 'formerMapping'>,
  { mapping }: Pick<Batch, 'mapping'>,
): string | null {
  return formerMapping === undefined ? (mapping ?? null) : formerMapping;
}

/** Returns the fields of a configured mapping with their types; undefined if its leads go as received. */
export function columnsOfDefinition(
  definition: MappingDefinition | undefined,
  clientKey: Secret | undefined,
): readonly MappedColumn[] | undefined {
  return definition && new CompiledMappings(() => clientKey).get(textOf(definition))?.columns;
}

/**
 * Returns a delivery with the fields that its mapping computes for the lead. The mapping is that of the batch, or an earlier one if the delivery may
 * have arrived under it. Returns an outcome instead if the mapping leaves the lead out, fails for it, or cannot be compiled. For `onEvaluated`, see
 * `Mapping.map`.
 */
export function mapDelivery(
  delivery: Delivery,
  { mapping, sink }: Pick<Batch, 'mapping' | 'sink'>,
  mappings: CompiledMappings,
  onEvaluated?: OnEvaluated,
): Delivery | Refused | Unavailable | LeftOut {
  const text = textFor(delivery, { mapping });
  if (text === null || delivery.event === 'erased') return delivery;
  const mapped = mappings.get(text)?.map(delivery, onEvaluated);
  // Not refused: the lead waits, and nothing is lost.
  if (!mapped) return { kind: 'unavailable', reason: NOT_COMPILED, unsent: true };
  if (mapped.kind === 'left-out') return { kind: 'left-out', reason: `${LEFT_OUT} of ${sink}` };
  if (mapped.kind === 'failed') return { kind: 'refused', reason: mapped.reason, unsent: true };
  const { fields, perLead } = mapped;
  return fields || perLead ? { ...delivery, fields, perLead } : delivery;
}

/** The result of applying a sink's mapping to one delivery, and the fields of that mapping. */
export interface MappedOne {
  readonly mapped: ReturnType<typeof mapDelivery>;
  readonly columns: readonly MappedColumn[] | undefined;
}

/** Applies its sink's mapping to one delivery. */
export function mapOne(
  delivery: Delivery,
  ofSink: Pick<Batch, 'mapping' | 'sink'>,
  clientKey: Secret | undefined,
): MappedOne {
  const mappings = new CompiledMappings(() => clientKey);
  return {
    mapped: mapDelivery(delivery, ofSink, mappings),
    columns: columnsOf([delivery], ofSink, mappings),
  };
}
