import { z } from 'zod';
import { builtOnce } from '../../platform/options/built-once.ts';
import { secret } from '../../platform/options/option-types.ts';
import type { StandardField } from '../sink-type.ts';

/** Visible ASCII without spaces. */
const CREDENTIAL = /^[\x21-\x7e]+$/;
const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/;
/** A Salesforce id: 15 characters, or 18 with a checksum. */
const ID = /^[0-9A-Za-z]{15}(?:[0-9A-Za-z]{3})?$/;

/** Returns the schema of the options of a salesforce sink, without those common to every sink. */
export const salesforceOptions = builtOnce(() =>
  z.strictObject({
    domain: z
      .string()
      .refine(isDomain, 'must be the My Domain address of the org, such as https://example.my.salesforce.com')
      .refine(
        (url) => !isOfNoOrg(url),
        'is an address at which Salesforce gives no token: copy the My Domain address from Setup, My Domain, such as https://example.my.salesforce.com',
      )
      .transform((url) => new URL(url).origin)
      .describe(
        'The My Domain address of the org: `https://NAME.my.salesforce.com`, or for a sandbox `https://NAME--SANDBOX.sandbox.my.salesforce.com`. `login.salesforce.com` gives no token for client credentials.',
      ),
    client_id: z
      .string()
      .regex(CREDENTIAL, 'must be the consumer key of an external client app, on one line')
      .describe(
        'The consumer key of an external client app in the org, with the client credentials flow, a user to run as, and the scope `api`.',
      ),
    client_secret: secret()
      .refine(
        (value) => CREDENTIAL.test(value.reveal()),
        'must be the consumer secret of the app, on one line',
      )
      .describe('The consumer secret of the app.'),
    overwrite: z
      .enum(['never', 'empty', 'always'])
      .default('empty')
      .describe(
        'Which fields of an existing lead in Salesforce leadsync writes. `empty`: those without a value; `always`: all; `never`: none. Applies to `events: [created, updated]` and `duplicates: update`. If a lead is delivered again as created, leadsync at most fills empty fields.',
      ),
    duplicates: z
      .enum(['save', 'refuse', 'update'])
      .default('refuse')
      .describe(
        'What happens to a lead for which a duplicate rule of the org finds an existing record: `save` it anyway, if the rule allows that, `refuse` it, or `update` the lead that the rule found.',
      ),
    converted: z
      .enum(['new', 'refuse'])
      .default('new')
      .describe(
        'With `duplicates: update`, what happens to a lead if a duplicate rule finds the person only as a contact or as a converted lead: `new` creates a lead, if the rule allows that; `refuse` refuses the lead.',
      ),
    assignment: z
      .union(
        [
          z.boolean(),
          z.string().regex(ID, 'must be the id of an assignment rule, such as 01Q5g000000AbCdEAK'),
        ],
        {
          error: 'must be true, false or the id of an assignment rule',
        },
      )
      .optional()
      .describe(
        'Which assignment rule decides who owns a new lead: `true` for the active rule of the org, the id of a rule for that rule, or `false` for none. Default: `true`, unless `fields` has `OwnerId`, which a rule would replace. An update does not change the owner, unless `fields` has `OwnerId` without `once` and `overwrite` is `always`.',
      ),
    standard_fields: z
      .boolean()
      .default(true)
      .describe(
        'Whether the sink starts with the standard fields for a new Salesforce org. Each entry in `fields` adds a field or replaces one. `false`: the sink writes only the fields in `fields`.',
      ),
  }),
);

/** The options of a salesforce sink, validated. */
export type SalesforceOptions = z.output<ReturnType<typeof salesforceOptions>>;

function isDomain(value: string): boolean {
  const url = URL.parse(value);
  if (url === null || url.username !== '' || url.pathname !== '/' || url.search !== '' || url.hash !== '')
    return false;
  return url.protocol === 'https:' || (url.protocol === 'http:' && LOOPBACK.test(url.hostname));
}

/** Whether an address is that of a login page for all orgs, or of the pages in which people work. */
function isOfNoOrg(value: string): boolean {
  const host = URL.parse(value)?.hostname ?? '';
  return /^(?:login|test)\.salesforce\.com$|\.lightning\.force\.com$/.test(host);
}

/** The field for the key of the lead, by which leadsync recognises the leads that it created. */
export const KEY = 'Leadsync_Key__c';
/** The field for the address of the lead's page. */
export const URL_FIELD = 'Leadsync_Url__c';

/**
 * Returns the fields that the sink writes unless the option `fields` replaces them. They fit a new Salesforce org without changes to it, apart from
 * what `leadsync setup` creates. Empty if `standard_fields` is off.
 */
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
    // Not State and Country, because an org that has picklists for them refuses free text there.
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

/** Returns why a name cannot be that of a Lead field in Salesforce, as a phrase; undefined if it can. */
export function fieldFault(name: string): string | undefined {
  if (!/^[A-Za-z]\w*$/.test(name))
    return 'is not a Salesforce field: write its API name, such as `LeadSource` or `Rooms__c`';
  const isKept = [KEY, URL_FIELD].some((kept) => kept.toLowerCase() === name.toLowerCase());
  return isKept ? 'is a field that leadsync writes itself' : undefined;
}
