import { z } from 'zod';
import { secret } from '../../platform/options/option-types.ts';
import type { StandardField } from '../sink.ts';

/** Visible ASCII without spaces. */
const CREDENTIAL = /^[\x21-\x7e]+$/;
const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/;
/** An id of Salesforce: 15 characters, or 18 with a checksum. */
const ID = /^[0-9A-Za-z]{15}(?:[0-9A-Za-z]{3})?$/;

/** The options of a salesforce sink, without those common to every sink. */
export const salesforceOptions = z.strictObject({
  domain: z
    .string()
    .refine(isDomain, 'must be the My Domain address of the org, such as https://example.my.salesforce.com')
    .refine(
      (url) => !isOfNoOrg(url),
      'is an address at which Salesforce gives no token: copy the My Domain address from Setup, My Domain, such as https://example.my.salesforce.com',
    )
    .transform((url) => new URL(url).origin)
    .describe(
      'The My Domain address of the org: `https://NAME.my.salesforce.com`, of a sandbox `https://NAME--SANDBOX.sandbox.my.salesforce.com`. `login.salesforce.com` gives no token for client credentials.',
    ),
  client_id: z
    .string()
    .regex(CREDENTIAL, 'must be the consumer key of an external client app, in one line')
    .describe(
      'The consumer key of an external client app in the org, with the client credentials flow, a user to run as, and the scope `api`.',
    ),
  client_secret: secret()
    .refine((value) => CREDENTIAL.test(value.reveal()), 'must be the consumer secret of the app, in one line')
    .describe('The consumer secret of the app.'),
  overwrite: z
    .enum(['never', 'empty', 'always'])
    .default('empty')
    .describe(
      'Which fields of a lead that Salesforce already has are written: `empty` ones, `always` all, or `never` any. It concerns `events: [created, updated]` and `duplicates: update`. A lead that comes again as created fills empty fields at most.',
    ),
  duplicates: z
    .enum(['save', 'refuse', 'update'])
    .default('refuse')
    .describe(
      'What happens to a lead of which a duplicate rule of the org says that it is there already: `save` it all the same, as far as the rule allows, `refuse` it, or `update` the lead that the rule found.',
    ),
  converted: z
    .enum(['new', 'refuse'])
    .default('new')
    .describe(
      'What happens with `duplicates: update` to a lead of a person whom a duplicate rule finds only as a contact or as a lead that is converted: `new` makes a lead of its own, as far as the rule allows, `refuse` refuses it.',
    ),
  assignment: z
    .union(
      [z.boolean(), z.string().regex(ID, 'must be the id of an assignment rule, such as 01Q5g000000AbCdEAK')],
      {
        error: 'must be true, false or the id of an assignment rule',
      },
    )
    .optional()
    .describe(
      'Who gets a new lead: with `true` the active assignment rule of the org decides, with the id of a rule that one, with `false` none. Default: `true`, unless `fields` has `OwnerId`, which a rule would replace. Updates never change the owner.',
    ),
  standard_fields: z
    .boolean()
    .default(true)
    .describe(
      'Whether the sink has the fields that suit a new org, which `fields` extends and replaces one by one. `false`: only `fields`.',
    ),
});

/** The options of a salesforce sink, validated. */
export type SalesforceOptions = z.output<typeof salesforceOptions>;

function isDomain(value: string): boolean {
  const url = URL.parse(value);
  if (url === null || url.username !== '' || url.pathname !== '/' || url.search !== '' || url.hash !== '')
    return false;
  return url.protocol === 'https:' || (url.protocol === 'http:' && LOOPBACK.test(url.hostname));
}

/** Whether an address is a common login page, or that of the pages that people work with. */
function isOfNoOrg(value: string): boolean {
  const host = URL.parse(value)?.hostname ?? '';
  return /^(?:login|test)\.salesforce\.com$|\.lightning\.force\.com$/.test(host);
}

/** The field with the key of the lead, by which leadsync recognises what it made. */
export const KEY = 'Leadsync_Key__c';
/** The field with the address of the lead's page. */
export const URL_FIELD = 'Leadsync_Url__c';

/** Returns the fields that suit a new org. */
export function standardFields(
  { standard_fields: isOn }: Pick<SalesforceOptions, 'standard_fields'>,
  region: string | undefined,
): Readonly<Record<string, StandardField>> {
  if (!isOn) return {};
  const phone =
    region === undefined
      ? 'lead.client_phone_number'
      : 'default(phone(lead.client_phone_number), lead.client_phone_number)';
  return {
    FirstName: { from: 'name(lead.client_name).first' },
    LastName: { from: 'name(lead.client_name).last' },
    Email: { from: 'email(lead.client_email)' },
    Phone: { from: phone },
    // Not State and Country: with picklists for them, an org refuses free text there.
    Street: { from: 'lead.address' },
    Description: { from: 'lead.all_details_one_liner' },
    Leadsync_Service__c: { from: 'lead.service_name' },
    Leadsync_Source__c: { from: 'lead.source' },
    Leadsync_First_Seen_At__c: { from: 'delivery.first_seen_at' },
    Leadsync_Answers__c: {
      from: 'lead.questions.map(q, q.question + ": " + q.answer).join("\\n")',
    },
    Leadsync_Email_As_Typed__c: { from: 'lead.client_email' },
  };
}

/** Returns why a name cannot be a field of a lead in Salesforce, as a phrase; undefined if it can. */
export function fieldFault(name: string): string | undefined {
  if (!/^[A-Za-z]\w*$/.test(name))
    return 'is no field of Salesforce: write its API name, such as `LeadSource` or `Rooms__c`';
  const isKept = [KEY, URL_FIELD].some((kept) => kept.toLowerCase() === name.toLowerCase());
  return isKept ? 'is a field that leadsync writes itself' : undefined;
}
