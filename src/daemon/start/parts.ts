import type { AlertStore } from '../../alerts/alert-store.ts';
import type { AuditStore } from '../../audit/audit-store.ts';
import type { Config, SinkConfig } from '../../config/contract/config.ts';
import type { Carrier } from '../../delivery/carrier.ts';
import type { ExportStates } from '../../exports/export-states.ts';
import type { Ledger } from '../../ledger/contract/ledger.ts';
import type { InstallationStores } from '../../operations/opening/installation-stores.ts';
import type { OpenSinks } from '../../operations/opening/open-sinks.ts';
import type { Processes } from '../../operations/opening/processes.ts';
import type { Clock, Random } from '../../platform/time/clock.ts';
import type { DiskTrend } from '../../status/problems/disk-trend.ts';
import type { Emit } from '../../telemetry/events.ts';
import type { LogStream } from '../../telemetry/logger.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';
import type { TracingParts } from '../../telemetry/tracing.ts';
import type { Duties } from '../duties/duties.ts';
import type { BatchThrottles } from '../joints/batch-throttle.ts';
import type { PollFailures } from '../joints/poll-failures.ts';
import type { Wakes } from '../joints/wake.ts';
import type { SharedParts } from './join-machines.ts';

/** What this process does. */
export type Role =
  /** Polls on schedule, dispatches, and, if `deliver` is true, makes attempts. */
  | { readonly kind: 'run'; readonly deliver: boolean }
  /** Only makes attempts, for a `run` process. */
  | { readonly kind: 'worker' }
  /** Polls once, dispatches without waiting for batches to fill, and makes attempts. */
  | { readonly kind: 'sync' };

/** Options for a daemon. A reload replaces `config` with the result of `load`; the others never change. */
export interface DaemonOptions {
  readonly config: Config;
  readonly role: Role;
  /** Address of the admin server. Undefined if there is none. */
  readonly admin: { readonly host: string; readonly port: number } | undefined;
  readonly log: LogStream;
  /** Reads the configuration again, for a reload. Absent: a reload uses `config` again. @throws ConfigError */
  readonly load?: () => Config;
  /** Stamp of the configuration files, taken before `config` was read. Absent: leadsync takes the stamp when it starts. */
  readonly loadedStamp?: string;
  /** Additional receivers of every event, such as the progress display of a terminal. */
  readonly subscribers?: readonly Emit[];
  /** Aborts a start that is still waiting; a started daemon ignores it. Absent: the start cannot be aborted. */
  readonly stop?: AbortSignal;
  /** Environment variables; those of OpenTelemetry turn tracing on. Absent: no tracing. */
  readonly env?: TracingParts['env'];
  /** Clock for a test, in place of the system clock. If it is set, the ledger runs in the caller's thread. */
  readonly clock?: Clock;
  readonly random?: Random;
  /** Which work this process does for the whole installation. Absent: all of it, because this process holds the data directory. */
  readonly duties?: Duties;
}

/** Parts that stay open while leadsync runs. Sinks and sources are replaced on reload. */
export interface Parts {
  readonly role: Role;
  /** Which work this process does for the whole installation. */
  readonly duties: Duties;
  /** Whether this process makes attempts. */
  readonly delivers: boolean;
  /** The configuration in force. */
  readonly current: { config: Config };
  readonly openSinks: OpenSinks;
  readonly ledger: Ledger;
  /** What this process has to do with those of other machines on the ledger; undefined if no other machine can work on it. */
  readonly shared: SharedParts | undefined;
  /** The processes that work on the ledger, including this one. */
  readonly processes: Processes;
  readonly carrier: Carrier;
  /** What the installation keeps beside its leads. */
  readonly stores: InstallationStores;
  readonly exportStates: ExportStates;
  readonly alerts: AlertStore;
  readonly audit: AuditStore;
  readonly telemetry: Telemetry;
  readonly pollFailures: PollFailures;
  /** The change of the free disk space, for the problem `disk_low`. */
  readonly diskTrend: DiskTrend;
  readonly wakes: Wakes;
  readonly throttles: BatchThrottles;
  readonly clock: Clock;
  readonly random: Random;
  /** Rewrites each `leadsync …` command in the text into the form that works in this installation. */
  readonly rewriteCommands: (text: string) => string;
}

/** Returns the sinks that are not disabled. */
export function enabledSinks({ sinks }: Config): readonly SinkConfig[] {
  return sinks.filter((sink) => sink.enabled);
}
