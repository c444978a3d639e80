import type { Delivery } from '../../leads/delivery.ts';
import { type MappedValue, mappedText } from '../../leads/mapped-fields.ts';
import type { DestinationRecord, Outcome } from '../../leads/outcome.ts';
import type { SinkParts } from '../sink.ts';
import { ALWAYS_REQUIRED } from './lead-fields.ts';
import { KEY, URL_FIELD } from './options.ts';

/** A value of a field, as JSON has it. */
export type Value = string | number | boolean;

/** The values of a record that are not empty, by field. */
export type Values = Readonly<Record<string, Value>>;

/** A lead of a batch, and what has become of it so far. */
export interface Enquiry {
  /** The key of the lead: `main:4711`. */
  readonly key: string;
  /** The deliveries of the lead, oldest first. */
  readonly deliveries: readonly Delivery[];
  /** Whether a lead that Salesforce does not have is to be made. Not for a mere update: somebody has deleted it. */
  readonly mayCreate: boolean;
  /** What the mapping made of the lead. */
  readonly mapped: Values;
  /** The fields of which Salesforce does not take the value. */
  readonly leftOut: Set<string>;
  /** What the lead gets in Salesforce: `mapped` as the fields of the org take it. */
  values: Values;
  /** What was not taken over, for the operator. */
  remarks: readonly string[];
  /** Set as soon as it is certain. */
  outcome: Outcome | undefined;
}

/** Returns the leads of a batch, each once, with the values that the mapping gives them. */
export function enquiriesOf(
  deliveries: readonly Delivery[],
  { leadUrl }: Pick<SinkParts, 'leadUrl'>,
): readonly Enquiry[] {
  const byLead = Map.groupBy(deliveries, ({ source, leadId }) => `${source}:${leadId}`);
  return [...byLead].map(([key, ofLead]) => {
    const newest = ofLead.at(-1) as Delivery;
    const url = leadUrl(newest);
    const mapped = { ...valuesOf(newest), ...(url === undefined ? {} : { [URL_FIELD]: url }) };
    return {
      key,
      deliveries: ofLead,
      mayCreate: ofLead.some(({ event, replay }) => event === 'created' || replay),
      mapped,
      leftOut: new Set<string>(),
      values: mapped,
      remarks: [],
      outcome: undefined,
    };
  });
}

/** Returns the record that makes the lead of an enquiry. */
export function newRecord({ key, values }: Enquiry): Values {
  return { ...ALWAYS_REQUIRED, ...values, [KEY]: key };
}

/** Sets the outcome of an enquiry that needs nothing more. */
export function deliver(
  enquiry: Enquiry,
  ref: DestinationRecord | undefined,
  ...remarks: readonly string[]
): void {
  const remark = [...enquiry.remarks, ...remarks].join(' ');
  enquiry.outcome = { kind: 'delivered', ref, ...(remark === '' ? {} : { remark }) };
}

function valuesOf({ fields }: Delivery): Record<string, Value> {
  const values: Record<string, Value> = {};
  for (const [name, mapped] of fields ?? []) {
    const value = jsonValue(mapped);
    if (value !== '') values[name] = value;
  }
  return values;
}

function jsonValue(value: MappedValue): Value {
  if (typeof value === 'boolean' || typeof value === 'number') return value;
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  const isList = Array.isArray(value) && value.every((one) => typeof one !== 'object');
  return storableText(isList ? value.map(mappedText).join(';') : mappedText(value));
}

/** The characters that XML 1.0 does not have. Triggers, flows and the SOAP API of an org read records as XML. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it is about control characters
const NO_XML = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g;

/** Returns a text as Salesforce stores it: trimmed, and without characters that XML does not have. */
function storableText(text: string): string {
  return text.toWellFormed().replace(NO_XML, '').trim();
}
