import { randomBytes } from 'node:crypto';
import type { OidcStub } from '../../test/stub/oidc/oidc-stub.ts';
import type { Destinations } from './destinations.ts';
import type { WorldOptions } from './options.ts';
import type { Services } from './services.ts';
import { clockTime, timetableLines } from './timetable.ts';

/** Minimum interval of an export, in seconds. */
const SHORTEST_EXPORT_S = 60;

/** A token for each person of the world, and one for commands. */
export interface Tokens {
  readonly cli: string;
  readonly anna: string;
  readonly otto: string;
  readonly vera: string;
}

/** Makes new tokens. */
export function newTokens(): Tokens {
  const token = (name: string) => `${name}-${randomBytes(12).toString('hex')}`;
  return { cli: token('cli'), anna: token('anna'), otto: token('otto'), vera: token('vera') };
}

/** Returns the variables of config/world.yaml. */
export function worldEnvironment(parts: {
  readonly folder: string;
  readonly speed: number;
  readonly services: Services;
  readonly destinations: Destinations;
  readonly provider: OidcStub;
  readonly alertsUrl: string;
  readonly webhookSecret: string;
  readonly adminPort: number;
  readonly tokens: Tokens;
}): Record<string, string> {
  const { services, provider, tokens, speed } = parts;
  const seconds = (minutes: number) => Math.ceil((60 * minutes) / speed);
  return {
    WORLD_DIR: parts.folder,
    WORLD_NORTH_URL: services.north.url,
    WORLD_SOUTH_URL: services.south.url,
    WORLD_CLIENT_ID: services.north.clientId,
    WORLD_CLIENT_SECRET: services.north.clientSecret,
    WORLD_WEBHOOK_SECRET: parts.webhookSecret,
    WORLD_ALERTS_URL: parts.alertsUrl,
    WORLD_MINUTE: `${seconds(1)}s`,
    WORLD_FIVE_MINUTES: `${seconds(5)}s`,
    WORLD_EXPORT_EVERY: `${Math.max(SHORTEST_EXPORT_S, seconds(5))}s`,
    WORLD_ADMIN_PORT: String(parts.adminPort),
    WORLD_OIDC_ISSUER: provider.issuer,
    WORLD_OIDC_CLIENT_ID: provider.clientId,
    WORLD_OIDC_CLIENT_SECRET: provider.clientSecret,
    WORLD_CLI_TOKEN: tokens.cli,
    WORLD_ANNA_TOKEN: tokens.anna,
    WORLD_OTTO_TOKEN: tokens.otto,
    WORLD_VERA_TOKEN: tokens.vera,
    ...parts.destinations.variables,
  };
}

/** Returns what the reader can do, and what will happen when. */
export function introduction(
  { adminUrl, config, folder, tokens }: { adminUrl: string; config: string; folder: string; tokens: Tokens },
  { minutes, speed, leads, rate }: WorldOptions,
): string {
  const command = (words: string) => `  npm run -s leadsync -- ${words} -c ${config}\n`;
  return `Two services list ${leads} leads, and ${rate} new ones a minute. leadsync delivers them to nine sinks for ${clockTime(minutes)} minutes, or until Ctrl-C.

Open this page in a browser now:

  ${adminUrl}

Log in at the OpenID provider, as anna@example.com, an operator, or with one of these tokens:

  anna, admin      ${tokens.anna}
  otto, operator   ${tokens.otto}
  vera, viewer     ${tokens.vera}

Try these commands in a second terminal, in this folder:

${['status', 'top', 'deliveries --state dead', 'status flaky', 'tail'].map(command).join('')}  curl -H 'authorization: Bearer ${tokens.vera}' ${adminUrl}/metrics

The ledger, the files and backups, alerts.jsonl and leadsync.log are in ${folder}. The configuration is ${config};
leadsync reads a copy of it, ${folder}/leadsync.yaml, which the timetable changes.

All the time, flaky answers 1 request in 5 with 503, and slow takes 1 to 3 s for each lead.
In addition (minutes:seconds from now):

${timetableLines(speed)}
  ${clockTime(minutes).padStart(6)}  everything works; the last leads arrive; the summary

If you replay leads, they arrive twice, and the summary counts them so. This happens now:

`;
}
