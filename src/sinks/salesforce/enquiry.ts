import type { Delivery } from '../../leads/delivery.ts';
import { type MappedValue, mappedText } from '../../leads/mapped-fields.ts';
import type { DestinationRecord, Outcome } from '../../leads/outcome.ts';
import { type BatchLead, deliveredAs, leadsOf } from '../crm/batch-leads.ts';
import type { SinkParts } from '../sink.ts';
import { ALWAYS_REQUIRED } from './lead-fields.ts';
import { KEY, URL_FIELD } from './options.ts';

/** A value of a field, as JSON has it. */
export type Value = string | number | boolean;

/** The values of a record that are not empty, by field. */
export type Values = Readonly<Record<string, Value>>;

/** A lead of a batch, and what has become of it so far. */
export interface Enquiry extends BatchLead {
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
  return leadsOf(deliveries).map((lead) => {
    const { newest } = lead;
    const url = leadUrl(newest);
    const mapped = { ...valuesOf(newest), ...(url === undefined ? {} : { [URL_FIELD]: url }) };
    return {
      ...lead,
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
  enquiry.outcome = deliveredAs(ref, [...enquiry.remarks, ...remarks]);
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
