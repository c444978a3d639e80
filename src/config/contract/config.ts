import type { AlertOptions } from '../../alerts/options.ts';
import type { ExportConfig } from '../../exports/contract/options.ts';
import type { LeadEvent } from '../../leads/delivery.ts';
import type { Retention } from '../../leads/retention.ts';
import type { Secret } from '../../platform/options/secret.ts';
import type { SinkType } from '../../sinks/sink.ts';
import type { SourceOptions } from '../../source/contract/options.ts';
import type { Fault } from './config-error.ts';

/** A configuration that is valid: every reference resolved, every default filled in, paths absolute. */
export interface Config {
  /** The file it came from, absolute. Relative paths inside it are taken from its folder. */
  readonly file: string;
  /** The files that hold its secrets, absolute. */
  readonly secretFiles: readonly string[];
  /** The options whose secrets stand in the file itself, if every user of this machine may read it: `sources.main.client_secret`. */
  readonly exposedSecrets: readonly string[];
  readonly dataDir: string;
  /** Whether a ledger that is missing is made where something shows that there was one. */
  readonly ledgerCreate: 'ask' | 'always' | 'never';
  readonly sources: readonly SourceConfig[];
  /** The disabled ones too. */
  readonly sinks: readonly SinkConfig[];
  readonly queue: QueueConfig;
  /** What is exported on a schedule. */
  readonly exports: readonly ExportConfig[];
  readonly admin: { readonly host: string; readonly port: number } | undefined;
  /** Who is told of what is wrong. */
  readonly alerts: AlertOptions;
  /** What whoever asks the admin server has to show; undefined: nothing, and only this machine reaches it. */
  readonly adminToken: Secret | undefined;
  /** Public names by which the admin server is reached. */
  readonly adminHosts: readonly string[];
  /** Proxies that may say for whom they ask: addresses and CIDR blocks. */
  readonly adminProxies: readonly string[];
  readonly log: { readonly level: LogLevel; readonly format: 'json' | 'pretty' | undefined };
  /** Encrypts the stored tokens; undefined: they are stored plainly, with mode 0600. */
  readonly tokenKey: Secret | undefined;
  /** Keys the hash that joins the leads of one client; undefined: there is none. */
  readonly clientKey: Secret | undefined;
  /** How long personal data is kept in the ledger. */
  readonly retention: Retention;
  /** Whether a change of the file is taken over by itself. */
  readonly watch: boolean;
  /** How long a stop may take, in ms, before what is under way is cut off. */
  readonly gracePeriodMs: number;
}

/**
 * What looking into the ledger needs of a configuration. The options that are a source's or a sink's own are not in it,
 * since their secrets may not be at hand.
 */
export interface LedgerConfig extends Pick<Config, 'file' | 'dataDir' | 'admin' | 'exports'> {
  readonly sources: readonly Omit<SourceConfig, 'options'>[];
  readonly sinks: readonly Omit<SinkConfig, 'options'>[];
  /** `unknown`: there may be a queue, and its address is not at hand. */
  readonly queue: { readonly redisUrl: Secret | 'unknown' | undefined };
  /** `unknown`: there may be a token, and it is not at hand. */
  readonly adminToken: Secret | 'unknown' | undefined;
  /** What is wrong with the file: then parts of it are missing here, and it is not in force. */
  readonly faults?: readonly Fault[];
}

/** What is logged: this, and what is worse. */
export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error';

/** A source, as the configuration has it. */
export interface SourceConfig {
  readonly name: string;
  readonly options: SourceOptions;
  readonly poll: PollSchedule;
}

/** When a source is polled: so long after the last poll began, or by cron, without a time zone by the clock of this machine. */
export type PollSchedule =
  | { readonly everyMs: number }
  | { readonly cron: string; readonly timezone: string | undefined };

/** A sink, as the configuration has it: its own options, and those that every type has. */
export interface SinkConfig {
  readonly name: string;
  readonly type: SinkType;
  /** What the type's own schema made of the YAML. */
  readonly options: Record<string, unknown>;
  readonly enabled: boolean;
  /** The name it had before. */
  readonly formerly: string | undefined;
  readonly events: readonly LeadEvent[];
  readonly batch: { readonly max: number; readonly waitMs: number };
  readonly concurrency: number;
  readonly timeoutMs: number;
  readonly retry: { readonly scheduleMs: readonly number[]; readonly jitter: number };
  readonly backfill: boolean;
}

/** How deliveries travel. */
export interface QueueConfig {
  /** BullMQ on this Redis; undefined: deliveries run in this process. */
  readonly redisUrl: Secret | undefined;
  /** Goes before every key in Redis. */
  readonly prefix: string;
  /** Whether Bull Board shows the queues. */
  readonly board: boolean;
}
