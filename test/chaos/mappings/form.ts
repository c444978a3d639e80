/** The sinks whose mappings change during a run. `even` and `odd` share the leads between them. */
export const MAPPED = ['crm', 'drop', 'warehouse', 'even', 'odd', 'bucket'] as const;
export type MappedSink = (typeof MAPPED)[number];

/** A mapping that a sink gets during a run. */
export interface Form {
  readonly sink: MappedSink;
  /** Different for every mapping of a run. Each lead that the mapping makes contains it. */
  readonly number: number;
  /** Whether the sink gets leads as received. */
  readonly plain?: boolean;
  /** The remainder of `id / 2` of the leads that the sink gets; all leads if absent. */
  readonly parity?: 0 | 1;
}

/** A lead as its service listed it, and what is special about the delivery. */
export interface Mapped {
  readonly lead: Readonly<Record<string, unknown>>;
  readonly source: string;
  readonly event: unknown;
  readonly delivery: unknown;
}

interface Field {
  readonly rule: unknown;
  /** Returns the value that the rule has for a lead; undefined if the lead must lack the field. */
  readonly valueFor: (mapped: Mapped) => unknown;
}

/** Returns the options by which a configuration file gives a sink a mapping. An absent option has to be removed from the file. */
export function optionsOf(form: Form): { where: string | undefined; fields: object | undefined } {
  const rules = Object.entries(fieldsOf(form)).map(([name, { rule }]) => [name, rule]);
  return {
    where: form.parity === undefined ? undefined : `lead.id % 2 == ${form.parity}`,
    fields: form.plain ? undefined : Object.fromEntries(rules),
  };
}

/** Returns the values that a mapping has to make of a lead. */
export function valuesOf(form: Form, mapped: Mapped): Record<string, unknown> {
  const values = Object.entries(fieldsOf(form)).map(([name, { valueFor }]) => [name, valueFor(mapped)]);
  return Object.fromEntries(values.filter(([, value]) => value !== undefined));
}

/** Whether a mapping lets a lead go to its sink. */
export function takes({ parity }: Form, lead: string): boolean {
  return parity === undefined || BigInt(lead) % 2n === BigInt(parity);
}

/**
 * Returns fields that differ in name and value from form to form. A webhook and files need the lead's id and text to recognise the lead; a
 * table has both in columns of its own. `form` stays last: by it, the scene recognises a mapped lead.
 */
function fieldsOf({ sink, number }: Form): Readonly<Record<string, Field>> {
  const lead = {
    id: { rule: 'lead.id', valueFor: ({ lead: { id } }: Mapped) => id },
    all_details_one_liner: {
      rule: 'lead.all_details_one_liner',
      valueFor: ({ lead: { all_details_one_liner: text } }: Mapped) => text,
    },
  };
  return {
    ...(sink === 'warehouse' ? {} : lead),
    slug: {
      rule: 'upper(lead.service_slug)',
      valueFor: ({ lead: { service_slug: slug } }) => String(slug).toUpperCase(),
    },
    event: { rule: 'delivery.event', valueFor: ({ event }) => event },
    delivery: { rule: 'delivery.id', valueFor: ({ delivery }) => delivery },
    first: {
      rule: { from: `"${sink} ${number}"`, once: true },
      valueFor: ({ event }) => (event === 'created' ? `${sink} ${number}` : undefined),
    },
    ...(number % 3 === 0
      ? { [`only_${number % 7}`]: { rule: { value: `in ${number}` }, valueFor: () => `in ${number}` } }
      : {}),
    made: {
      rule: `"by ${sink} ${number} of " + lead.key`,
      valueFor: ({ lead: { id }, source }) => `by ${sink} ${number} of ${source}:${id}`,
    },
    form: { rule: { value: number }, valueFor: () => number },
  };
}
