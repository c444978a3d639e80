import type { Delivery } from '../../leads/delivery.ts';
import { type MappedValue, mappedText } from '../../leads/mapped-fields.ts';
import type { DestinationRecord, Outcome } from '../../leads/outcome.ts';
import { type BatchLead, deliveredAs, leadsOf } from '../crm/batch-leads.ts';
import type { SinkParts } from '../sink-type.ts';
import { ALWAYS_REQUIRED } from './lead-fields.ts';
import { KEY, URL_FIELD } from './options.ts';

/** The value of a field, as in JSON. */
export type Value = string | number | boolean;

/** The non-empty values of a record, by field. */
export type Values = Readonly<Record<string, Value>>;

/** A lead of a batch, and what has become of it so far. */
export interface Enquiry extends BatchLead {
  /** The values that the mapping gives the lead. */
  readonly mapped: Values;
  /** The fields whose values Salesforce does not accept. */
  readonly leftOut: Set<string>;
  /** The values to write to Salesforce: `mapped`, fitted to the fields of the org. */
  values: Values;
  /** Remarks for the operator, such as which values were not written. */
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

/** Returns the record from which Salesforce creates the lead of an enquiry. */
export function newRecord({ key, values }: Enquiry): Values {
  return { ...ALWAYS_REQUIRED, ...values, [KEY]: key };
}

/** Marks an enquiry as delivered, with its remarks. */
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

/** The characters that XML 1.0 does not allow. Triggers, flows and the SOAP API of an org read records as XML. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it is about control characters
const NO_XML = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g;

/** Returns the text as Salesforce stores it: trimmed, and without characters that XML does not allow. */
function storableText(text: string): string {
  return text.toWellFormed().replace(NO_XML, '').trim();
}
