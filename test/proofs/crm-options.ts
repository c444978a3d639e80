import { parseArgs } from 'node:util';

export const USAGE = `npm run proof:crm -- --hubspot TOKEN [--api-url URL]
npm run proof:crm -- --salesforce https://NAME.my.salesforce.com
npm run proof:crm -- --pipedrive TOKEN --domain URL

Asks a real account, in twelve steps, what the documents of HubSpot, Salesforce or Pipedrive leave open, and whether the sink keeps its
promises there.

IT WRITES TO THE ACCOUNT: some contacts or persons, deals and leads whose texts begin with "leadsync proof", and the properties, fields and
permissions that the sink needs. At the end, also when a step fails or you press Ctrl-C, it removes everything that it wrote, and
nothing else. What was there before stays. HubSpot and Salesforce keep deleted records in their recycle bins for some time, and
Salesforce deleted fields for 15 days; Pipedrive keeps deleted records for 30 days. Triggers, flows and assignment rules see the leads.
Use a developer test account, a Developer Edition or a sandbox, never the account of your company.

  --hubspot TOKEN   a service key with the scopes of src/sinks/hubspot/README.md; - reads it from HUBSPOT_TOKEN, which keeps it out of
                    the process list
  --api-url URL     another address than https://api.hubapi.com: a stub
  --salesforce URL  the My Domain address of the org. SALESFORCE_CLIENT_ID and SALESFORCE_CLIENT_SECRET are the consumer key and
                    secret of an external client app, as in docs/salesforce.md, which runs as an administrator
  --pipedrive TOKEN the API token of an administrator; - reads it from PIPEDRIVE_TOKEN
  --domain URL      the address of the company at Pipedrive, such as https://example.pipedrive.com, or of a stub
  --help            this text

Exit code 0: the promises hold, and nothing is left; 1: not; 2: wrong usage.
`;

/** Which CRM to ask, and how to reach it. */
export type CrmOptions =
  | { readonly crm: 'hubspot'; readonly token: string; readonly url: string }
  | {
      readonly crm: 'salesforce';
      readonly url: string;
      readonly clientId: string;
      readonly clientSecret: string;
    }
  | { readonly crm: 'pipedrive'; readonly token: string; readonly url: string };

/** Reads the command line. Gives 'help' when that is asked for. @throws Error that says what is wrong */
export function readOptions(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>> = process.env,
): CrmOptions | 'help' {
  const { values } = parseArgs({
    args: [...args],
    options: {
      hubspot: { type: 'string' },
      'api-url': { type: 'string', default: 'https://api.hubapi.com' },
      salesforce: { type: 'string' },
      pipedrive: { type: 'string' },
      domain: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return 'help';
  const chosen = [values.hubspot, values.salesforce, values.pipedrive].filter((one) => one !== undefined);
  if (chosen.length !== 1) throw new Error('Choose one CRM: --hubspot, --salesforce or --pipedrive.');
  if (values.salesforce !== undefined) {
    const url = addressOf('--salesforce', values.salesforce);
    const { SALESFORCE_CLIENT_ID: clientId, SALESFORCE_CLIENT_SECRET: clientSecret } = env;
    if (!clientId || !clientSecret)
      throw new Error('--salesforce needs SALESFORCE_CLIENT_ID and SALESFORCE_CLIENT_SECRET.');
    return { crm: 'salesforce', url, clientId, clientSecret };
  }
  if (values.pipedrive !== undefined) {
    const token = values.pipedrive === '-' ? env['PIPEDRIVE_TOKEN'] : values.pipedrive;
    if (!token) throw new Error('--pipedrive takes the API token of a user of Pipedrive.');
    return { crm: 'pipedrive', token, url: addressOf('--domain', values.domain) };
  }
  const token = values.hubspot === '-' ? env['HUBSPOT_TOKEN'] : values.hubspot;
  if (!token) throw new Error('--hubspot takes the service key of a HubSpot account.');
  return { crm: 'hubspot', token, url: addressOf('--api-url', values['api-url']) };
}

function addressOf(option: string, url: string | undefined): string {
  if (url === undefined || !URL.canParse(url) || !/^https?:/.test(url))
    throw new Error(`${option} takes an address, and got ${url ?? 'none'}.`);
  return url.replace(/\/+$/, '');
}
