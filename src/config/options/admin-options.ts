import { isIP } from 'node:net';
import { z } from 'zod';
import { oidcOptions } from '../../identity/options.ts';
import { secret } from '../../platform/options/option-types.ts';
import { ROLES } from '../../platform/options/role.ts';
import { nameOption } from './option-limits.ts';

/** Minimum length of the token, in characters. A guessable token would expose leads to every client that reaches the address. */
const SHORTEST_TOKEN = 16;

/** Matches a token: at least `SHORTEST_TOKEN` characters, all of which an HTTP header can hold without encoding. */
const TOKEN = new RegExp(`^[\\x21-\\x7e]{${SHORTEST_TOKEN},}$`);

const WRONG_ADDRESS = 'must be host:port such as 127.0.0.1:9464 or [::1]:9464, or off';
const HOST_NAME = /^[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/i;

/** Headers that already have another meaning in a request. */
const TAKEN_HEADERS: ReadonlySet<string> = new Set([
  'authorization',
  'cookie',
  'host',
  'origin',
  'x-forwarded-for',
]);

function tokenOption() {
  return secret().refine(
    (token) => TOKEN.test(token.reveal()),
    `must be at least ${SHORTEST_TOKEN} characters without spaces, such as the output of \`openssl rand -hex 32\``,
  );
}

/** The schema of `admin:` in the configuration. */
export const adminOptions = z
  .strictObject({
    listen: z
      .string({ error: WRONG_ADDRESS })
      .transform((text, context) => {
        const address = readAddress(text);
        if (address !== null) return address;
        context.addIssue({ code: 'custom', message: WRONG_ADDRESS });
        return z.NEVER;
      })
      .prefault('127.0.0.1:9464')
      .describe(
        'host:port for pages, API, probes and metrics, or `off`. An address that is not loopback needs `token`.',
      ),
    token: tokenOption()
      .optional()
      .describe(
        `The token that every request must carry, as \`Authorization: Bearer …\` or through the login page: at least ${SHORTEST_TOKEN} characters (\`openssl rand -hex 32\`). It has the role admin, and the name \`admin\` in the audit log. \`/livez\` and \`/readyz\` answer without it. Absent, and without \`tokens\`: everything is open to this machine, and \`listen\` must be a loopback address.`,
      ),
    tokens: z
      .record(
        nameOption,
        z.strictObject({
          token: tokenOption().describe(
            `The token of this person or program, at least ${SHORTEST_TOKEN} characters (\`openssl rand -hex 32\`).`,
          ),
          role: z
            .enum(ROLES)
            .describe(
              'What the token allows. `viewer`: states, numbers and lists without personal data, and metrics. `operator`: also actions (retry, replay, discard, pause, resume, test) and personal data. `admin`: also the configuration, its reload, and the audit log.',
            ),
        }),
      )
      .default({})
      .describe(
        'Further tokens, each under the name of a person or a program, which the audit log shows. They are used like `token`.',
      ),
    hosts: z
      .array(z.string().regex(HOST_NAME, 'must be a host name such as leadsync.example.com, without a port'))
      .default([])
      .describe(
        'Public host names of the admin address, such as that of a reverse proxy, which must pass `Host` on unchanged. IP addresses and `localhost` need no entry. With a `token`, names without a dot and names that are never public (`….local`, `….internal`, `….svc`) need none either. Needs `token`.',
      ),
    public_url: z
      .string()
      .refine(isOrigin, 'must be an address such as https://leadsync.example.com, without a path')
      .transform((text) => new URL(text).origin)
      .optional()
      .describe(
        'The address at which people open the pages: `https://leadsync.example.com`. Messages about a lead then link to its page. Alerts link to the page that shows the problem, and to the section of the runbook about it.',
      ),
    trusted_proxies: z
      .array(z.string().refine(isNetwork, 'must be an IP address or a CIDR block such as 10.0.0.0/8'))
      .default([])
      .describe(
        'IP addresses and CIDR blocks of proxies whose headers are trusted: `X-Forwarded-For` (the client, for the audit log and brute-force protection), `X-Forwarded-Proto` and `X-Forwarded-Host`. Needs `token`.',
      ),
    trusted_header: z
      .strictObject({
        name: z
          .string()
          .regex(/^[a-z0-9-]{1,100}$/i, 'must be the name of a header such as X-Forwarded-User')
          .refine(
            (name) => !TAKEN_HEADERS.has(name.toLowerCase()),
            'has another meaning; choose another header',
          )
          .describe('The header in which the proxy names the person.'),
        roles: z
          .record(z.string().min(1), z.enum(ROLES))
          .default({})
          .describe('The role of each person, by the name in the header, as in `tokens`.'),
        default_role: z
          .enum(ROLES)
          .optional()
          .describe('The role of everyone else whom the proxy names. Absent: they get 403.'),
      })
      .optional()
      .describe(
        'Trusts a proxy that logs people in, such as oauth2-proxy or Authelia, to say who a request is from. The header counts only in requests from `trusted_proxies`. The proxy must remove the header from requests that clients send.',
      ),
    oidc: z
      .lazy(oidcOptions)
      .optional()
      .describe(
        'Lets people log in to the pages at an OpenID provider, such as Keycloak, Authentik, Google Workspace, Entra ID or Okta. Register `PUBLIC_URL/login/oidc/callback` there as redirect URI; `leadsync check` shows it. Needs a token with the role admin, for commands.',
      ),
  })
  .prefault({})
  .describe('HTTP for pages, API, `/livez`, `/readyz` and `/metrics`.');

/** Parses `host:port` or `[::1]:port`. Returns undefined for `off`, and null for anything else. */
function readAddress(text: string): { host: string; port: number } | undefined | null {
  if (text === 'off') return undefined;
  const [, v6, name, port] = /^(?:\[([0-9a-fA-F:.]+)\]|([\w.-]+)):(\d{1,5})$/.exec(text) ?? [];
  const host = v6 ?? name;
  if (host === undefined || Number(port) > 65_535) return null;
  return { host, port: Number(port) };
}

function isOrigin(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) && `${url.origin}/` === url.href;
}

/** Whether the text is an IP address or CIDR block. Refuses /0, which would let every client claim any address. */
function isNetwork(text: string): boolean {
  const [, address = '', prefix] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const version = isIP(address);
  if (version === 0 || prefix === undefined) return version !== 0;
  return Number(prefix) >= 1 && Number(prefix) <= (version === 4 ? 32 : 128);
}
