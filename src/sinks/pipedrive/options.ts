import { z } from 'zod';
import { builtOnce } from '../../platform/options/built-once.ts';
import { secret } from '../../platform/options/option-types.ts';
import type { StandardField } from '../sink-type.ts';

/** Visible ASCII without spaces, as a header requires. */
const TOKEN = /^[\x21-\x7e]+$/;
const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/;

/** Returns the schema of the options of a pipedrive sink, without those common to every sink. */
export const pipedriveOptions = builtOnce(() =>
  z.strictObject({
    domain: z
      .string()
      .refine(
        isDomain,
        'must be the address of the company at Pipedrive, such as https://example.pipedrive.com',
      )
      .transform((url) => new URL(url).origin)
      .describe('The address of the company at Pipedrive: `https://COMPANY.pipedrive.com`.'),
    token: secret()
      .refine((token) => TOKEN.test(token.reveal()), 'must be a Pipedrive API token, on one line')
      .describe(
        'The API token of a user, which Pipedrive shows under Personal preferences, API. The records that leadsync creates belong to this user.',
      ),
    object: z
      .enum(['lead', 'deal', 'none'])
      .default('lead')
      .describe(
        'The record that leadsync creates in Pipedrive for each lead and links to the person: a `lead` in the leads inbox, a `deal`, or `none`, so that there is only the person.',
      ),
    note: z
      .boolean()
      .default(true)
      .describe(
        'Whether leadsync writes the answers of the client as a note, which costs 10 tokens for each lead. `false`: it writes them to the field `leadsync_answers`.',
      ),
    overwrite: z
      .enum(['never', 'empty', 'always'])
      .default('empty')
      .describe(
        'Which fields of an existing record leadsync writes. `empty`: those without a value; `always`: all; `never`: none. Applies to a known person, and with `events: [created, updated]` also to the lead or deal.',
      ),
    daily_tokens: z
      .int()
      .min(1)
      .optional()
      .describe(
        'Number of API tokens that the company has per day, if Pipedrive does not report it in its answers: 30,000 per seat with Lite, 60,000 with Growth, 150,000 with Premium, 210,000 with Ultimate.',
      ),
    standard_fields: z
      .boolean()
      .default(true)
      .describe(
        'Whether the sink starts with the standard fields for a new Pipedrive company. Each entry in `fields` adds a field or replaces one. `false`: the sink writes only the fields in `fields`.',
      ),
  }),
);

/** The options of a pipedrive sink, validated. */
export type PipedriveOptions = z.output<ReturnType<typeof pipedriveOptions>>;

/** The objects that have fields. Leads have the custom fields of deals. */
export type FieldOwner = 'person' | 'lead' | 'deal';

function isDomain(value: string): boolean {
  const url = URL.parse(value);
  if (url === null || url.username !== '' || url.pathname !== '/' || url.search !== '' || url.hash !== '')
    return false;
  return url.protocol === 'https:' || (url.protocol === 'http:' && LOOPBACK.test(url.hostname));
}

/** The field of a person, lead or deal for the key of the lead for which it was created. */
export const KEY = 'leadsync_key';
/** The field of a person for the keys of all enquiries. leadsync writes each key before it creates the lead or deal. */
export const ENQUIRIES = 'leadsync_enquiries';
/** The field for the address of the lead's page. */
export const URL_FIELD = 'leadsync_url';
/** The field of a person for the email address as the client typed it. */
export const AS_TYPED = 'leadsync_email_as_typed';
/** The name under which a mapping writes the note of an enquiry. */
export const NOTE = 'note';

const ANSWERS = 'lead.questions.map(q, q.question + "\\n" + q.answer).join("\\n\\n")';
/** Maximum number of characters in a note: Pipedrive accepts 100,000 characters of HTML, in which an escaped character counts several times. */
const MAX_NOTE = 30_000;
const MAX_TEXT = 65_535;

/**
 * Returns the fields that the sink writes unless the option `fields` replaces them. They fit a new Pipedrive company without changes to it, apart
 * from what `leadsync setup` creates. Empty if `standard_fields` is off.
 */
export function standardFields(
  { object, note, standard_fields: isOn }: Pick<PipedriveOptions, 'object' | 'note' | 'standard_fields'>,
  region: string | undefined,
): Readonly<Record<string, StandardField>> {
  if (!isOn) return {};
  const phone =
    region === undefined
      ? 'lead.client_phone_number'
      : 'default(phone(lead.client_phone_number), lead.client_phone_number)';
  const person: Readonly<Record<string, StandardField>> = {
    name: { from: 'lead.client_name', max: 255 },
    email: { from: 'email(lead.client_email)' },
    phone: { from: phone },
    leadsync_address: { from: 'lead.address', max: MAX_TEXT },
    [AS_TYPED]: { from: 'lead.client_email', max: MAX_TEXT },
  };
  const enquiry: Readonly<Record<string, StandardField>> = {
    leadsync_service: { from: 'lead.service_name', max: MAX_TEXT },
    leadsync_source: { from: 'lead.source', max: MAX_TEXT },
    leadsync_first_seen_at: { from: 'delivery.first_seen_at' },
    ...(note
      ? { [NOTE]: { from: ANSWERS, once: true, max: MAX_NOTE } }
      : { leadsync_answers: { from: ANSWERS, max: MAX_TEXT } }),
  };
  if (object === 'none') return { ...person, ...enquiry };
  const title: StandardField = { from: 'lead.service_name + ": " + lead.client_name', max: 255 };
  const prefixed = Object.entries({ title, ...enquiry }).map(([name, of]) => [`${object}.${name}`, of]);
  return { ...person, ...Object.fromEntries(prefixed) };
}

/** Returns why a name cannot be that of a Pipedrive field, as a phrase; undefined if it can. */
export function fieldFault(name: string): string | undefined {
  const [first = '', second, ...rest] = name.split('.');
  if (second !== undefined && !/^(lead|deal)$/.test(first))
    return 'is not a field: write a field of the person as it is, and one of the lead or deal as `lead.NAME` or `deal.NAME`';
  if (rest.length > 0) return 'is not a field: a name has at most one dot, as in `deal.value`';
  const field = second ?? first;
  if (!/^[\p{Ll}\p{Lo}\p{Lm}\p{N}_]+$/u.test(field))
    return 'is not a field: write its name in Pipedrive in lower case, with _ in place of everything else, as `leadsync fields` lists it';
  return [KEY, ENQUIRIES, URL_FIELD].includes(field) ? 'is a field that leadsync writes itself' : undefined;
}
