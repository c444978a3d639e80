import { parseArgs } from 'node:util';

export const USAGE = `npm run proof:crm -- --hubspot TOKEN [--api-url URL]

Asks a real HubSpot account, in twelve steps, what HubSpot's documents leave open, and whether the sink keeps its promises there.

IT WRITES TO THE ACCOUNT: some contacts, deals and leads whose texts begin with "leadsync proof", and the properties that the
sink needs. At the end, also when a step fails or you press Ctrl-C, it removes every record, property and group that it wrote,
and nothing else. Properties that were there before stay. HubSpot keeps deleted deals in its recycling bin for some time.
Use a developer test account, never that of your company.

  --hubspot TOKEN   a service key with the scopes of src/sinks/hubspot/README.md; - reads it from HUBSPOT_TOKEN, which keeps it out of
                    the process list
  --api-url URL     another address than https://api.hubapi.com: a stub
  --help            this text

Exit code 0: the promises hold, and nothing is left; 1: not; 2: wrong usage.
`;

export interface CrmOptions {
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
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return 'help';
  const token = values.hubspot === '-' ? env['HUBSPOT_TOKEN'] : values.hubspot;
  if (!token) throw new Error('--hubspot takes the service key of a HubSpot account.');
  const url = values['api-url'];
  if (!URL.canParse(url) || !/^https?:/.test(url))
    throw new Error(`--api-url takes an address, and got ${url}.`);
  return { token, url: url.replace(/\/+$/, '') };
}
