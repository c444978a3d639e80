import type { Delivery } from '../leads/delivery.ts';
import { Mapping } from '../mapping/mapping.ts';
import type { MappingDefinition } from '../mapping/mapping-definition.ts';
import type { Secret } from '../platform/options/secret.ts';

/** Result of applying a mapping to some leads. */
export interface MappingTrial {
  /** The number of leads that were tried. */
  readonly leads: number;
  /** The numbers of leads that go to the sink, that `where` leaves out, and for which an expression fails. */
  readonly sent: number;
  readonly leftOut: number;
  readonly failed: number;
  /** The leads that go to the sink, by their index. */
  readonly going: ReadonlySet<number>;
  /** For each field, the number of sent leads for which it is null or an empty string. */
  readonly empty: ReadonlyMap<string, number>;
  /** For each reason of a failure, the number of leads, and one of them as `source:id`. */
  readonly reasons: ReadonlyMap<string, { readonly leads: number; readonly example: string }>;
}

/** Result for every lead if this version of leadsync cannot compile the mapping, which an earlier version accepted. */
const NOT_COMPILED = {
  kind: 'failed',
  reason: 'This version of leadsync cannot compile the mapping.',
} as const;

/** Applies a sink's mapping to leads, and counts the results. Without a mapping, every lead goes to the sink. Sends nothing. */
export function tryMapping(
  definition: MappingDefinition | undefined,
  leads: readonly Delivery[],
  clientKey: Secret | undefined,
): MappingTrial {
  const named = { ...definition?.perLead, ...definition?.fields };
  const empty = new Map<string, number>(Object.keys(named).map((name) => [name, 0]));
  const reasons = new Map<string, { leads: number; example: string }>();
  const going = new Set<number>();
  let [leftOut, failed] = [0, 0];
  const mapping = definition && Mapping.compile(definition, clientKey);
  const apply = (lead: Delivery) => {
    if (mapping === undefined) return { kind: 'mapped', fields: undefined, perLead: undefined } as const;
    return mapping instanceof Mapping ? mapping.map(lead) : NOT_COMPILED;
  };
  for (const [index, lead] of leads.entries()) {
    const mapped = apply(lead);
    if (mapped.kind === 'left-out') leftOut += 1;
    else if (mapped.kind === 'failed') {
      failed += 1;
      const { leads: before = 0, example = `${lead.source}:${lead.leadId}` } =
        reasons.get(mapped.reason) ?? {};
      reasons.set(mapped.reason, { leads: before + 1, example });
    } else {
      going.add(index);
      for (const [name, value] of [...(mapped.perLead ?? []), ...(mapped.fields ?? [])])
        if (value === null || value === '') empty.set(name, (empty.get(name) ?? 0) + 1);
    }
  }
  return { leads: leads.length, sent: going.size, leftOut, failed, going, empty, reasons };
}
