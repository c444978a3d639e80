import { parseArgs } from 'node:util';

export const USAGE = `npm run proof:crm -- --hubspot TOKEN [--api-url URL]
npm run proof:crm -- --pipedrive TOKEN --domain URL

Asks a real account of HubSpot or Pipedrive, in twelve steps, what the vendor's documents leave open, and whether the sink keeps its
promises there.

IT WRITES TO THE ACCOUNT: some contacts or persons, deals and leads whose texts begin with "leadsync proof", and the properties or
fields that the sink needs. At the end, also when a step fails or you press Ctrl-C, it removes everything that it wrote, and nothing
else. Properties and fields that were there before stay. HubSpot keeps deleted deals in its recycling bin for some time, Pipedrive
keeps every deleted record for 30 days. Use a developer test account or sandbox, never that of your company.

  --hubspot TOKEN    a service key with the scopes of src/sinks/hubspot/README.md; - reads it from HUBSPOT_TOKEN, which keeps it out of
                     the process list
  --api-url URL      another address than https://api.hubapi.com: a stub
  --pipedrive TOKEN  the API token of an administrator; - reads it from PIPEDRIVE_TOKEN
  --domain URL       the address of the company at Pipedrive, such as https://example.pipedrive.com, or of a stub
  --help             this text

Exit code 0: the promises hold, and nothing is left; 1: not; 2: wrong usage.
`;

export interface CrmOptions {
  readonly crm: 'hubspot' | 'pipedrive';
  readonly token: string;
  readonly url: string;
}

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
      pipedrive: { type: 'string' },
      domain: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return 'help';
  if (values.pipedrive !== undefined) {
    if (values.hubspot !== undefined) throw new Error('Give either --hubspot or --pipedrive.');
    const token = values.pipedrive === '-' ? env['PIPEDRIVE_TOKEN'] : values.pipedrive;
    if (!token) throw new Error('--pipedrive takes the API token of a user of Pipedrive.');
    return { crm: 'pipedrive', token, url: addressOf('--domain', values.domain) };
  }
  const token = values.hubspot === '-' ? env['HUBSPOT_TOKEN'] : values.hubspot;
  if (!token)
    throw new Error(
      '--hubspot takes the service key of a HubSpot account, --pipedrive a token of Pipedrive.',
    );
  return { crm: 'hubspot', token, url: addressOf('--api-url', values['api-url']) };
}

function addressOf(option: string, url: string | undefined): string {
  if (url === undefined || !URL.canParse(url) || !/^https?:/.test(url))
    throw new Error(`${option} takes an address, and got ${url ?? 'none'}.`);
  return url.replace(/\/+$/, '');
}
