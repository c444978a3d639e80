import { isIP } from 'node:net';
import { z } from 'zod';
import { alertOptions } from '../../alerts/options.ts';
import { exportOptions } from '../../exports/contract/options.ts';
import { secret } from '../../platform/options/option-types.ts';
import type { Secret } from '../../platform/options/secret.ts';
import { durationBetween, nameOption } from './option-limits.ts';

/** A key can be tried offline by whoever gets hold of the files. */
const SHORTEST_PASSPHRASE = 16;
/** A token that can be guessed would open leads to whoever reaches the address. */
const SHORTEST_TOKEN = 16;

/** What can stand in an HTTP header as it is. */
const TOKEN = new RegExp(`^[\\x21-\\x7e]{${SHORTEST_TOKEN},}$`);

const HOST_NAME = /^[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/i;

/** An option of `retention`. */
function kept(what: string) {
  return durationBetween('1d', '36500d').optional().describe(`${what}.`);
}

/** The top of the configuration. Sources and sinks are validated entry by entry, each by its own schema. */
export const daemonOptions = z.strictObject({
  data_dir: z
    .string()
    .min(1)
    .default('./data')
    .describe('The folder of the ledger, the tokens and the lock; made if missing.'),
  ledger: z
    .strictObject({
      create: z
        .enum(['ask', 'always', 'never'])
        .default('ask')
        .describe(
          'Whether a missing ledger is made. `ask`: only if nothing shows that there was one; otherwise leadsync ends and says what it found, since with a new ledger every lead would go to every sink again. It waits for sinks and a Redis that do not answer yet. `always`: without asking. `never`: this installation is not new; only `leadsync ledger accept` makes one.',
        ),
    })
    .prefault({})
    .describe('What leadsync remembers, in `ledger.db` in `data_dir`.'),
  sources: z
    .record(z.string(), z.unknown())
    .refine((sources) => Object.keys(sources).length > 0, 'must have at least one source')
    .describe('The accounts at lead listing services, each under a name of your choice.'),
  sinks: z
    .record(z.string(), z.unknown())
    .default({})
    .describe(
      'Where leads go, each under a name of your choice. None: leads are only remembered in the ledger.',
    ),
  queue: z
    .strictObject({
      redis_url: z
        .union([z.literal(''), secret()], {
          error: 'must be a redis:// or rediss:// address, empty, or { file: /run/secrets/x }',
        })
        .transform((value): Secret | undefined => (value === '' ? undefined : value))
        .superRefine((value, context) => {
          if (value === undefined || isRedisUrl(value.reveal())) return;
          const message = 'must be a redis:// or rediss:// address such as redis://127.0.0.1:6379/0';
          context.addIssue({ code: 'custom', message });
        })
        .prefault('')
        .describe('BullMQ carries the deliveries on this Redis. Empty: they run in this process.'),
      prefix: z
        .string()
        .regex(/^[\w.-]{1,64}$/, 'is made of letters, digits, _, . and -, at most 64 of them')
        .default('leadsync')
        .describe('Goes before every key in Redis; two installs on one Redis need two.'),
      board: z
        .boolean()
        .default(false)
        .describe(
          'Shows the queues by Bull Board at `/queues` of the admin address, read-only. They hold numbers of batches and nobody’s data.',
        ),
    })
    .prefault({})
    .describe('How deliveries travel to where they are attempted.'),
  admin: z
    .strictObject({
      listen: z
        .string()
        .transform((text, context) => {
          const address = readAddress(text);
          if (address !== null) return address;
          const message = 'must be host:port such as 127.0.0.1:9464 or [::1]:9464, or off';
          context.addIssue({ code: 'custom', message });
          return z.NEVER;
        })
        .prefault('127.0.0.1:9464')
        .describe(
          'host:port for pages, API, probes and metrics, or `off`. Another address than one of loopback needs `token`.',
        ),
      token: secret()
        .refine(
          (token) => TOKEN.test(token.reveal()),
          `must be at least ${SHORTEST_TOKEN} characters without spaces, such as \`openssl rand -hex 32\` prints`,
        )
        .optional()
        .describe(
          `Whoever asks has to show it, as \`Authorization: Bearer …\` or by the login page: at least ${SHORTEST_TOKEN} characters (\`openssl rand -hex 32\`). \`/livez\` and \`/readyz\` answer without it. Absent: everything is open to this machine, and \`listen\` must be an address of loopback.`,
        ),
      hosts: z
        .array(
          z.string().regex(HOST_NAME, 'must be a host name such as leadsync.example.com, without a port'),
        )
        .default([])
        .describe(
          'Public names by which it is reached, such as that of a proxy before it; the proxy has to pass `Host` on as it came. Addresses and `localhost` need not be here; nor, with a `token`, names without a dot and names that are never public (`….local`, `….internal`, `….svc`). Needs `token`.',
        ),
      trusted_proxies: z
        .array(z.string().refine(isNetwork, 'must be an address or a block of them such as 10.0.0.0/8'))
        .default([])
        .describe(
          'Addresses and CIDR blocks of proxies: from these alone `X-Forwarded-For` (who asks, for the audit log and the limit of wrong tokens), `X-Forwarded-Proto` and `X-Forwarded-Host` count. Needs `token`.',
        ),
    })
    .prefault({})
    .describe('HTTP for pages, API, `/livez`, `/readyz` and `/metrics`.'),
  alerts: alertOptions(nameOption)
    .prefault({})
    .describe(
      'Tells people what is wrong, where no Prometheus does. docs/operating.md says what each condition means.',
    ),
  exports: exportOptions(nameOption)
    .default({})
    .describe('Tables of the store as files, again and again, each export under a name of your choice.'),
  watch: z
    .boolean()
    .default(false)
    .describe(
      'Takes a change of this file, and of the files that hold its secrets, over by itself, a second or two after it was saved. Otherwise `leadsync reload` or SIGHUP does.',
    ),
  log: z
    .strictObject({
      level: z
        .enum(['trace', 'debug', 'info', 'warn', 'error'])
        .default('info')
        .describe('The least important lines that are still written.'),
      format: z.enum(['json', 'pretty']).optional().describe('Absent: `pretty` on a terminal, else `json`.'),
    })
    .prefault({})
    .describe('What leadsync says while it runs; never any personal data or secret.'),
  tokens: z
    .strictObject({
      encryption_key: secret()
        .refine(
          (key) => key.reveal().length >= SHORTEST_PASSPHRASE,
          `must be 32 bytes in hexadecimal or base64 (openssl rand -base64 32), or a passphrase of at least ${SHORTEST_PASSPHRASE} characters`,
        )
        .optional()
        .describe(
          `Encrypts the stored tokens (AES-256-GCM): 32 bytes as 64 hexadecimal digits or in base64 (\`openssl rand -base64 32\`), or a passphrase of at least ${SHORTEST_PASSPHRASE} characters. Absent: they are stored plainly, with mode 0600.`,
        ),
    })
    .prefault({})
    .describe('The OAuth tokens in the data directory.'),
  store: z
    .strictObject({
      client_key: secret()
        .refine(
          (key) => key.reveal().length >= SHORTEST_PASSPHRASE,
          `must have at least ${SHORTEST_PASSPHRASE} characters`,
        )
        .optional()
        .describe(
          `Keys the hash by which queries join the leads of one client without personal data (\`client_key\`): at least ${SHORTEST_PASSPHRASE} characters, such as \`openssl rand -base64 32\` prints. Whoever knows it can try out email addresses. Absent: there is no such hash. After a change there is none for leads whose content \`retention\` has removed.`,
        ),
    })
    .prefault({})
    .describe('What queries see.'),
  retention: z
    .strictObject({
      leads: kept(
        'The current content of a lead, since it was last changed. Its id stays, so that it is not taken for a new one; it can no longer be replayed',
      ),
      versions: kept('Contents that a lead had before, since they were first listed'),
      attempts: kept('Attempts and what destinations answered, of deliveries that are settled'),
      rejected_leads: kept(
        'What was set aside, since it came right or was last listed; the newest one goes with the next',
      ),
    })
    .prefault({})
    .describe(
      'How long personal data stays in the ledger, at least a day, such as `90d`. Absent: for ever. What is still owed, or was given up, keeps its content; what sinks hold is theirs.',
    ),
  stop: z
    .strictObject({
      grace: durationBetween('0s', '1h')
        .prefault('25s')
        .describe('How long a stop may take before what is under way is cut off.'),
    })
    .prefault({})
    .describe('What happens on SIGTERM and SIGINT.'),
});

/** Reads `host:port`, `[::1]:port` or `off` (gives undefined); null for anything else. */
function readAddress(text: string): { host: string; port: number } | undefined | null {
  if (text === 'off') return undefined;
  const [, v6, name, port] = /^(?:\[([0-9a-fA-F:.]+)\]|([\w.-]+)):(\d{1,5})$/.exec(text) ?? [];
  const host = v6 ?? name;
  if (host === undefined || Number(port) > 65_535) return null;
  return { host, port: Number(port) };
}

/** An address, or a block of them; not the block of all, since whoever asks could then say to be anybody. */
function isNetwork(text: string): boolean {
  const [, address = '', prefix] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const version = isIP(address);
  if (version === 0 || prefix === undefined) return version !== 0;
  return Number(prefix) >= 1 && Number(prefix) <= (version === 4 ? 32 : 128);
}

function isRedisUrl(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && ['redis:', 'rediss:'].includes(url.protocol);
}
