import type { Delivery } from '../../leads/delivery.ts';
import { type MappedValue, mappedText } from '../../leads/mapped-fields.ts';
import type { Outcome } from '../../leads/outcome.ts';
import { type BatchLead, leadsOf } from '../crm/batch-leads.ts';
import type { SinkParts } from '../sink-type.ts';
import type { ObjectName } from './hubspot-api.ts';
import type { HubSpotRecord } from './read-answer.ts';

/** The property by which leadsync recognises the records that it created. It holds the key of the lead, and its values are unique. */
export const KEY = 'leadsync_key';
/** The property with the address of the lead's page. */
export const URL_PROPERTY = 'leadsync_url';

/** The properties of a record, by name. */
export type Properties = Readonly<Record<string, string>>;

/** A lead of a batch, and what has become of it so far. */
export interface Enquiry extends BatchLead {
  /** The email address in lower case; undefined if there is none that HubSpot accepts. */
  email: string | undefined;
  /** The properties of the contact, without its email address. */
  readonly contact: Properties;
  /** The properties of the deal or lead. */
  readonly record: Properties;
  /** Remarks for the operator, such as which values were not written. */
  readonly remarks: string[];
  contactId: string | undefined;
  /** The deal or lead that HubSpot already has. */
  existing: HubSpotRecord | undefined;
  /** Set as soon as it is certain. */
  outcome: Outcome | undefined;
}

/** Returns the leads of a batch, each once, with the properties that the mapping gives them. */
export function enquiriesOf(
  deliveries: readonly Delivery[],
  { leadUrl }: Pick<SinkParts, 'leadUrl'>,
): readonly Enquiry[] {
  return leadsOf(deliveries).map((lead) => {
    const { key, newest } = lead;
    const url = leadUrl(newest);
    const own = { [KEY]: key, ...(url === undefined ? {} : { [URL_PROPERTY]: url }) };
    const { email, ...contact } = propertiesOf(newest, (name) => (name.includes('.') ? undefined : name));
    const record = propertiesOf(newest, (name) =>
      name.includes('.') ? name.slice(name.indexOf('.') + 1) : undefined,
    );
    return {
      ...lead,
      email: email?.toLowerCase(),
      contact: { ...contact, ...own },
      record: { ...record, ...own },
      remarks: [],
      contactId: undefined,
      existing: undefined,
      outcome: undefined,
    };
  });
}

/** Returns the names of the properties that the enquiries have for their contacts, or for their deals or leads. */
export function namesOf(enquiries: readonly Enquiry[], part: 'contact' | 'record'): readonly string[] {
  return [...new Set(enquiries.flatMap((enquiry) => Object.keys(enquiry[part])))];
}

/** The prefix of the fields of an object other than contacts. */
export const PREFIXES: Readonly<Record<Exclude<ObjectName, 'contacts'>, string>> = {
  deals: 'deal',
  leads: 'lead',
};

/** Returns the non-empty values of a delivery, by the names that `nameOf` returns. Leaves out fields for which it returns none. */
function propertiesOf(
  { fields }: Delivery,
  nameOf: (field: string) => string | undefined,
): Record<string, string> {
  const properties: Record<string, string> = {};
  for (const [field, value] of fields ?? []) {
    const name = nameOf(field);
    const text = valueText(value);
    if (name !== undefined && text !== '') properties[name] = text;
  }
  return properties;
}

/** Formats a value for HubSpot. Joins a list with semicolons, as HubSpot does for several options. */
function valueText(value: MappedValue): string {
  const isList = Array.isArray(value) && value.every((one) => typeof one !== 'object');
  return (isList ? value.map(mappedText).join(';') : mappedText(value)).toWellFormed();
}
