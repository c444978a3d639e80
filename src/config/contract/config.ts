import type { AlertOptions } from '../../alerts/options.ts';
import type { QueueConfig, RedisPlace } from '../../delivery/options.ts';
import type { ExportConfig } from '../../exports/contract/options.ts';
import type { OidcOptions } from '../../identity/options.ts';
import type { BreakerPolicy } from '../../leads/breaker-policy.ts';
import type { LeadEvent } from '../../leads/delivery.ts';
import type { Retention } from '../../leads/retention.ts';
import type { Lookups, MappingDefinition } from '../../mapping/mapping-definition.ts';
import type { MappingTest } from '../../mapping/options.ts';
import type { NamedToken, PersonRoles, TrustedHeader } from '../../platform/options/role.ts';
import type { Secret } from '../../platform/options/secret.ts';
import type { SinkType } from '../../sinks/sink-type.ts';
import type { SourceOptions } from '../../source/contract/options.ts';
import type { Fault } from './config-error.ts';

/** One value that is in effect. */
export interface ConfigValue {
  /** The path of the option: `sinks.crm.url`. */
  readonly path: string;
  /** The value as in YAML, with absolute paths and masked secrets; `[not set]` if it comes from a variable that this process does not have. */
  readonly value: string;
  /** Where the value comes from: `leadsync.yaml:12`, `environment LEADS_CLIENT_ID`, `file /run/secrets/x`, or `default`. */
  readonly origin: string;
}

/** An option that holds a secret, such as the credentials for a destination, and where the secret comes from. Never contains the secret itself. */
export interface SecretOption {
  /** The path of the option: `sinks.crm.headers.Authorization`. */
  readonly path: string;
  /** The names of the environment variables that the secret comes from. */
  readonly variables: readonly string[];
  /**
   * Absolute path of the file that holds the secret: the file that the option names, or the configuration file. Undefined if the secret
   * comes entirely from variables.
   */
  readonly file: string | undefined;
}

/** A valid configuration: every reference is resolved, every default filled in, every path absolute. */
export interface Config {
  /** Absolute path of the configuration file. Relative paths in the file are resolved against the file's folder. */
  readonly file: string;
  /** Absolute paths of the secret files that the configuration names. */
  readonly secretFiles: readonly string[];
  /** Every value that is in effect, written or default, in the order of the option reference. */
  readonly values: readonly ConfigValue[];
  /** Every option that is set and holds a secret. */
  readonly secrets: readonly SecretOption[];
  /**
   * The options whose secrets are in the configuration file itself, such as `sources.main.client_secret`. Empty unless every user may read
   * the file.
   */
  readonly exposedSecrets: readonly string[];
  /** The name of the installation; undefined if it has none. */
  readonly name: string | undefined;
  readonly dataDir: string;
  /** The server that holds the ledger; undefined if the ledger is a file in `dataDir`. */
  readonly ledgerServer?: LedgerServer | undefined;
  /** Whether to create a missing ledger. `ask`: only if there is no sign that one existed. */
  readonly ledgerCreate: 'ask' | 'always' | 'never';
  /** Free space on the disk of `dataDir` below which leadsync warns, in bytes. */
  readonly minFreeBytes: number;
  readonly sources: readonly SourceConfig[];
  /** Includes disabled sinks. */
  readonly sinks: readonly SinkConfig[];
  readonly queue: QueueConfig;
  /** Scheduled exports. */
  readonly exports: readonly ExportConfig[];
  /** Scheduled backups. No backup has the name of an export, because the name identifies its state, metrics and problems. */
  readonly backups: readonly ExportConfig[];
  readonly admin: { readonly host: string; readonly port: number } | undefined;
  /** How people are notified of problems. */
  readonly alerts: AlertOptions;
  /** The tokens that clients of the admin server may send: `admin.token`, under the name `admin`, and `admin.tokens`. */
  readonly adminTokens: readonly NamedToken[];
  /** The token that commands send to the running leadsync: the first of `adminTokens` with the role admin. */
  readonly adminToken: Secret | undefined;
  /** Public host names of the admin server. */
  readonly adminHosts: readonly string[];
  /** The address at which people open the pages, without a trailing slash: `https://leadsync.example.com`. */
  readonly publicUrl: string | undefined;
  /** Addresses and CIDR blocks of proxies whose `X-Forwarded-*` headers are trusted. */
  readonly adminProxies: readonly string[];
  /** The header in which a trusted proxy names the person who makes a request; undefined if no proxy does. */
  readonly adminHeader: TrustedHeader | undefined;
  /** The OpenID provider that logs people in to the pages; undefined if there is none. */
  readonly adminLogin: LoginConfig | undefined;
  readonly log: { readonly level: LogLevel; readonly format: 'json' | 'pretty' | undefined };
  /** The key that encrypts the stored tokens; undefined if the tokens are stored in plain text, with mode 0600. */
  readonly tokenKey: Secret | undefined;
  /** The key of the hash by which queries join the leads of one client; undefined if there is no such hash. */
  readonly clientKey: Secret | undefined;
  /** Tables for the function `lookup` in expressions. */
  readonly lookups: Lookups;
  /** How long personal data is kept in the ledger. */
  readonly retention: Retention;
  /** Whether leadsync reloads the file when it changes. */
  readonly watch: boolean;
  /** Maximum time, in ms, that a stop waits for unfinished work before it aborts that work. */
  readonly gracePeriodMs: number;
}

/**
 * The part of a configuration that is enough for commands that neither poll nor deliver. Leaves out the options of sources and the
 * type-specific options of sinks, because their secrets may not be available.
 */
export interface LedgerConfig
  extends Pick<
    Config,
    | 'file'
    | 'name'
    | 'dataDir'
    | 'ledgerServer'
    | 'minFreeBytes'
    | 'admin'
    | 'publicUrl'
    | 'exports'
    | 'backups'
  > {
  /** `options` is present if leadsync has read all of them. */
  readonly sources: readonly (Omit<SourceConfig, 'options'> & {
    readonly options?: { readonly grant?: Grant | undefined };
  })[];
  readonly sinks: readonly Omit<SinkConfig, 'options'>[];
  /** `unknown` if there may be a queue whose address is not available. */
  readonly queue: { readonly redis: RedisPlace | 'unknown' | undefined };
  /** The token that commands send; `unknown` if there may be one that is not available. */
  readonly adminToken: Secret | 'unknown' | undefined;
  /** The faults in the file. If there are any, the faulty parts are left out here, and leadsync does not apply the file. */
  readonly faults?: readonly Fault[];
}

/** A PostgreSQL server that holds the ledger. */
export interface LedgerServer {
  /** The address of the database, with user and password. */
  readonly url: Secret;
  readonly schema: string;
  /** Maximum number of connections of a process that write. */
  readonly connections: number;
}

/** Defaults of the options of a ledger's server apart from its address. */
export const DEFAULT_SERVER: Pick<LedgerServer, 'schema' | 'connections'> = {
  schema: 'leadsync_ledger',
  connections: 4,
};

/** Returns the exports and the backups of a configuration. */
export function filesOf({ exports, backups }: Pick<Config, 'exports' | 'backups'>): readonly ExportConfig[] {
  return [...exports, ...backups];
}

/** The OpenID provider that logs people in, and their roles. */
export interface LoginConfig {
  readonly provider: OidcOptions;
  readonly roles: PersonRoles;
}

/** The least severe level that is logged. */
export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error';

/** How leadsync authenticates at a source. */
export type Grant = NonNullable<SourceOptions['grant']>;

/** A configured source. */
export interface SourceConfig {
  readonly name: string;
  readonly options: SourceOptions;
  readonly poll: PollSchedule;
}

/**
 * When a source is polled: at an interval, from the start of one poll to the start of the next, or by cron. Without a time zone, cron uses
 * that of this machine.
 */
export type PollSchedule =
  | { readonly everyMs: number }
  | { readonly cron: string; readonly timezone: string | undefined };

/** A configured sink: its type's own options, and the options that every type has. */
export interface SinkConfig {
  readonly name: string;
  readonly type: SinkType;
  /** The type's own options, as its schema returned them. */
  readonly options: Record<string, unknown>;
  readonly enabled: boolean;
  /** The former name of the sink. */
  readonly formerly: string | undefined;
  readonly events: readonly LeadEvent[];
  readonly batch: { readonly max: number; readonly waitMs: number };
  readonly concurrency: number;
  /** Maximum number of batches that begin within any period of `perMs`; undefined if there is no maximum. */
  readonly rate: { readonly batches: number; readonly perMs: number } | undefined;
  readonly timeoutMs: number;
  readonly retry: { readonly scheduleMs: readonly number[]; readonly jitter: number };
  /** When the sink is held, and how often it is probed. */
  readonly breaker: BreakerPolicy;
  readonly backfill: boolean;
  /** Which leads the sink gets, and in which form; undefined if it gets every lead as received. */
  readonly mapping: MappingDefinition | undefined;
  readonly mappingTests: readonly MappingTest[];
  /** The country of phone numbers without a country code, for expressions; undefined if it is not set. */
  readonly region: string | undefined;
}
