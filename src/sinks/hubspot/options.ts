import { z } from 'zod';
import { builtOnce } from '../../platform/options/built-once.ts';
import { secret } from '../../platform/options/option-types.ts';
import type { StandardField } from '../sink-type.ts';

/** Visible ASCII without spaces, as a header requires. */
const TOKEN = /^[\x21-\x7e]+$/;

/** Returns the schema of the options of a hubspot sink, without those common to every sink. */
export const hubspotOptions = builtOnce(() =>
  z.strictObject({
    token: secret()
      .refine((token) => TOKEN.test(token.reveal()), 'must be a service key such as pat-…, on one line')
      .describe(
        'The service key of the HubSpot account (`pat-…`), or the token of a private app. It needs the scopes to read and write contacts and the records of `object`, and for `leadsync setup` also their schemas.',
      ),
    object: z
      .enum(['deal', 'lead', 'none'])
      .default('deal')
      .describe(
        'The record that leadsync creates in HubSpot for each lead and links to the contact: a `deal`, a `lead` (Sales Hub), or `none`, so that there is only the contact.',
      ),
    overwrite: z
      .enum(['never', 'empty', 'always'])
      .default('empty')
      .describe(
        'Which properties of an existing record leadsync writes. `empty`: those without a value; `always`: all; `never`: none. Applies to the contact of a known person, and with `events: [created, updated]` also to the deal or lead.',
      ),
    standard_fields: z
      .boolean()
      .default(true)
      .describe(
        'Whether the sink starts with the standard fields for a new HubSpot account. Each entry in `fields` adds a field or replaces one. `false`: the sink writes only the fields in `fields`.',
      ),
    api_url: z
      .string()
      .refine((url) => isAddress(url), 'must be an address such as https://api.hubapi.com')
      .transform((url) => url.replace(/\/+$/, ''))
      .default('https://api.hubapi.com')
      .describe("The address of HubSpot's API."),
  }),
);

/** The options of a hubspot sink, validated. */
export type HubSpotOptions = z.output<ReturnType<typeof hubspotOptions>>;

function isAddress(value: string): boolean {
  const url = URL.parse(value);
  return (
    url !== null &&
    /^https?:$/.test(url.protocol) &&
    url.username === '' &&
    url.search === '' &&
    url.hash === ''
  );
}

/** Maximum number of characters in a HubSpot text property. */
const MAX_TEXT = 65_536;

/** The standard fields of contacts. */
const CONTACT_FIELDS: Readonly<Record<string, StandardField>> = {
  email: { from: 'email(lead.client_email)' },
  firstname: { from: 'name(lead.client_name).first', max: MAX_TEXT },
  lastname: { from: 'name(lead.client_name).last', max: MAX_TEXT },
  address: { from: 'lead.address', max: MAX_TEXT },
  lifecyclestage: { from: '"lead"', once: true },
  leadsync_email_as_typed: { from: 'lead.client_email', max: MAX_TEXT },
};

/**
 * The client's details as typed in this enquiry, then the answers. A known contact may keep another phone number or address, so the record of the
 * enquiry contains them too. The phone number comes first, because a text that is too long loses its end.
 */
const ENQUIRY_TEXT =
  '([["Phone", lead.client_phone_number], ["Email", lead.client_email], ["Name", lead.client_name], ["Address", lead.address]]' +
  '.filter(pair, pair[1] != "").map(pair, pair[0] + ": " + pair[1])' +
  ' + lead.questions.map(q, q.question + ": " + q.answer)).join("\\n")';

/** The standard fields for the origin and the text of an enquiry. */
const ENQUIRY_FIELDS: Readonly<Record<string, StandardField>> = {
  leadsync_service: { from: 'lead.service_name', max: MAX_TEXT },
  leadsync_source: { from: 'lead.source' },
  leadsync_first_seen_at: { from: 'delivery.first_seen_at' },
  leadsync_answers: { from: ENQUIRY_TEXT, max: MAX_TEXT },
};

const TITLE: StandardField = { from: 'lead.service_name + ": " + lead.client_name', max: 255 };

/**
 * Returns the fields that the sink writes unless the option `fields` replaces them. They fit a new HubSpot account without changes to it, apart from
 * what `leadsync setup` creates. Empty if `standard_fields` is off.
 */
export function standardFields(
  { object, standard_fields: isOn }: HubSpotOptions,
  region: string | undefined,
): Readonly<Record<string, StandardField>> {
  if (!isOn) return {};
  const phone =
    region === undefined
      ? 'lead.client_phone_number'
      : 'default(phone(lead.client_phone_number), lead.client_phone_number)';
  const contact = { ...CONTACT_FIELDS, phone: { from: phone, max: MAX_TEXT } };
  const within = (prefix: string, fields: Readonly<Record<string, StandardField>>) =>
    Object.fromEntries(Object.entries(fields).map(([name, field]) => [`${prefix}.${name}`, field]));
  if (object === 'deal') {
    const stage = { from: '"appointmentscheduled"', once: true };
    const pipeline = { from: '"default"', once: true };
    return {
      ...contact,
      ...within('deal', { dealname: TITLE, pipeline, dealstage: stage, ...ENQUIRY_FIELDS }),
    };
  }
  if (object === 'lead') return { ...contact, ...within('lead', { hs_lead_name: TITLE, ...ENQUIRY_FIELDS }) };
  return { ...contact, ...ENQUIRY_FIELDS };
}

/** Returns why a field cannot be a property, as a phrase; undefined if it can. */
export function fieldFault(
  name: string,
  options: Pick<HubSpotOptions, 'object'> | undefined,
): string | undefined {
  const [first = '', second, ...rest] = name.split('.');
  const property = second ?? first;
  if (second !== undefined && !/^(deal|lead)$/.test(first))
    return `is not a property${rightForm(first, second)}`;
  if (rest.length > 0) return 'is not a property: a name has at most one dot, as in `deal.amount`';
  if (!/^[a-z][a-z0-9_-]*$/.test(property))
    return "is not a property: HubSpot's internal names consist of lower-case letters, digits and _, as `leadsync fields` lists them";
  if (KEPT.has(property)) return WRITTEN_BY_LEADSYNC;
  if (second === undefined || options === undefined || options.object === first) return undefined;
  return `is a property of a ${first}, and the sink's \`object\` is \`${options.object}\``;
}

/** Returns the phrase that corrects a property with a wrong prefix. */
function rightForm(prefix: string, name: string): string {
  if (/^contacts?$/i.test(prefix)) return `: a property of the contact has no prefix, \`${name}\``;
  const [, object] = /^(deal|lead)s?$/i.exec(prefix) ?? [];
  if (object !== undefined)
    return `: a property of the ${object.toLowerCase()} is written \`${object.toLowerCase()}.${name}\``;
  return ': write a property of the contact as it is, and one of the deal or lead as `deal.NAME` or `lead.NAME`';
}

const KEPT: ReadonlySet<string> = new Set(['leadsync_key', 'leadsync_url']);
const WRITTEN_BY_LEADSYNC = 'is a property that leadsync writes itself';
