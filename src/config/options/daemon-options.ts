import { z } from 'zod';
import { alertOptions } from '../../alerts/options.ts';
import { queueOptions } from '../../delivery/options.ts';
import { backupOptions, exportOptions } from '../../exports/contract/options.ts';
import { lookupsOption } from '../../mapping/options.ts';
import { secret } from '../../platform/options/option-types.ts';
import { adminOptions } from './admin-options.ts';
import { ledgerOptions } from './ledger-options.ts';
import { durationBetween, nameOption } from './option-limits.ts';

/** Minimum length of a passphrase, in characters. An attacker who has the files could find a shorter one by brute force, offline. */
const SHORTEST_PASSPHRASE = 16;
/** Returns the schema of an option of `retention`. */
function retentionOption(what: string) {
  return durationBetween('1d', '36500d').optional().describe(`${what}.`);
}

/** The schema of the top level of the configuration. Sources and sinks are validated entry by entry, each by its own schema. */
export const daemonOptions = z.strictObject({
  name: z
    .string()
    .regex(/^[\p{L}\p{N}][\p{L}\p{N} ._-]{0,39}$/u, 'must be 1 to 40 letters, digits, spaces, _, . and -')
    .optional()
    .describe(
      'The name of this installation, such as `production`. Alerts and the titles of the pages show it, so that you can tell installations apart.',
    ),
  data_dir: z
    .string()
    .min(1)
    .default('./data')
    .describe('The folder of the ledger, the tokens and the lock; created if missing.'),
  ledger: ledgerOptions,
  sources: z
    .record(z.string(), z.unknown())
    .refine((sources) => Object.keys(sources).length > 0, 'must have at least one source')
    .describe('The accounts at lead listing services, each under a name of your choice.'),
  sinks: z
    .record(z.string(), z.unknown())
    .default({})
    .describe(
      'Where leads are delivered, each under a name of your choice. None: leads are only recorded in the ledger.',
    ),
  queue: queueOptions,
  admin: adminOptions,
  alerts: alertOptions(nameOption)
    .prefault({})
    .describe(
      'Notifies people of problems, for installations without Prometheus. docs/operating.md explains each condition.',
    ),
  exports: z
    .lazy(() => exportOptions(nameOption))
    .default({})
    .describe('Scheduled exports of tables as files, each under a name of your choice.'),
  backups: z
    .lazy(() => backupOptions(nameOption))
    .default({})
    .describe(
      'Scheduled backups of the data directory, each under a name of your choice, which must not be that of an export. `leadsync restore` restores one.',
    ),
  watch: z
    .boolean()
    .default(false)
    .describe(
      'Whether leadsync applies a change to this file, or to the files that hold its secrets, a second or two after it is saved. `false`: `leadsync reload` or SIGHUP applies it.',
    ),
  log: z
    .strictObject({
      level: z
        .enum(['trace', 'debug', 'info', 'warn', 'error'])
        .default('info')
        .describe('The least severe level that is logged.'),
      format: z.enum(['json', 'pretty']).optional().describe('Absent: `pretty` on a terminal, else `json`.'),
    })
    .prefault({})
    .describe('The log, which never holds personal data or secrets.'),
  tokens: z
    .strictObject({
      encryption_key: secret()
        .refine(
          (key) => key.reveal().length >= SHORTEST_PASSPHRASE,
          `must be 32 bytes in hexadecimal or base64 (openssl rand -base64 32), or a passphrase of at least ${SHORTEST_PASSPHRASE} characters`,
        )
        .optional()
        .describe(
          `Encrypts the stored tokens (AES-256-GCM): 32 bytes as 64 hexadecimal digits or in base64 (\`openssl rand -base64 32\`), or a passphrase of at least ${SHORTEST_PASSPHRASE} characters. Absent: the tokens are stored in plain text, with mode 0600. Required with \`ledger.url\`.`,
        ),
    })
    .prefault({})
    .describe(
      'The OAuth tokens. leadsync stores them in the data directory or, with `ledger.url`, in the schema of the ledger.',
    ),
  store: z
    .strictObject({
      client_key: secret()
        .refine(
          (key) => key.reveal().length >= SHORTEST_PASSPHRASE,
          `must have at least ${SHORTEST_PASSPHRASE} characters`,
        )
        .optional()
        .describe(
          `The key of the hash \`client_key\`, by which queries join the leads of one client without personal data: at least ${SHORTEST_PASSPHRASE} characters, such as the output of \`openssl rand -base64 32\`. A person who knows it can test email addresses against the hashes. Absent: no hash is stored. After a change, leads whose content \`retention\` has removed have no hash.`,
        ),
    })
    .prefault({})
    .describe('What queries can see.'),
  retention: z
    .strictObject({
      leads: retentionOption(
        'How long to keep the current content of a lead after its last change. The id stays, so that leadsync does not take the lead for a new one. The lead can no longer be replayed',
      ),
      versions: retentionOption('How long to keep former versions of a lead after they were first listed'),
      attempts: retentionOption(
        "How long to keep attempts of settled deliveries, with the destinations' answers",
      ),
      rejected_leads: retentionOption(
        'How long to keep rejected leads after they became valid or were last listed. The newest rejected lead is kept until there is a newer one',
      ),
    })
    .prefault({})
    .describe(
      'How long the ledger keeps personal data, as a duration of at least `1d`, such as `90d`. Absent: for ever. Leads with pending or dead deliveries keep their content. Data in destinations is not affected.',
    ),
  lookups: lookupsOption,
  stop: z
    .strictObject({
      grace: durationBetween('0s', '1h')
        .prefault('25s')
        .describe('Maximum duration of a stop before leadsync aborts unfinished work.'),
    })
    .prefault({})
    .describe('What happens on SIGTERM and SIGINT.'),
});
