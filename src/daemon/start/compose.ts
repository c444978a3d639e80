import { randomBytes } from 'node:crypto';
import { configWarnings } from '../../config/config-warnings.ts';
import type { Config, SinkConfig } from '../../config/contract/config.ts';
import type { ConfigValue } from '../../config/effective-values.ts';
import type { Carrier } from '../../delivery/carrier.ts';
import { ExportStates } from '../../exports/export-states.ts';
import type { Ledger } from '../../ledger/contract/ledger.ts';
import { removeAdminEndpoint } from '../../operations/opening/admin-endpoint.ts';
import { holdDataDir, openConfiguredLedger } from '../../operations/opening/open-ledger.ts';
import { OpenSinks } from '../../operations/opening/open-sinks.ts';
import { holdOwnProcessLock } from '../../operations/opening/reclaim-leases.ts';
import { disk } from '../../platform/files/files.ts';
import type { Closers } from '../../platform/process/closers.ts';
import { asTyped } from '../../platform/process/typed-command.ts';
import { version } from '../../platform/process/version.ts';
import { type Clock, type Random, systemClock } from '../../platform/time/clock.ts';
import type { Emit } from '../../telemetry/events.ts';
import type { LogStream } from '../../telemetry/logger.ts';
import { openTracing } from '../../telemetry/open-tracing.ts';
import { createTelemetry, type Telemetry, type TelemetryOptions } from '../../telemetry/telemetry.ts';
import type { TracingParts } from '../../telemetry/tracing.ts';
import { deliverBatch } from '../joints/deliver.ts';
import { openCarrier } from '../joints/open-carrier.ts';
import { PollFailures } from '../joints/poll-failures.ts';
import { Wakes } from '../joints/wake.ts';
import { openThreadedLedger } from './threaded-ledger.ts';
import { waitToStart } from './wait-to-start.ts';

/** What this process is to do. */
export type Role =
  /** Polls on schedule, dispatches, and delivers unless other processes do. */
  | { readonly kind: 'run'; readonly deliver: boolean }
  /** Delivers alone, beside a `run --no-deliver`. */
  | { readonly kind: 'worker' }
  /** Polls once, and does not wait for batches to fill. */
  | { readonly kind: 'sync' };

/**
 * What a leadsync is started with. A reload puts what `load` gives in the place of `config`; the others stay until the
 * end.
 */
export interface DaemonOptions {
  readonly config: Config;
  readonly role: Role;
  /** Where the admin server listens; undefined: nowhere. */
  readonly admin: { readonly host: string; readonly port: number } | undefined;
  readonly log: LogStream;
  /** Reads the configuration anew, for a reload. @throws ConfigError */
  readonly load?: () => Config;
  /** Every value of the configuration as it is written now, with where it comes from. @throws ConfigError */
  readonly describe?: () => readonly ConfigValue[];
  /** Who else wants every event: progress on a terminal. */
  readonly subscribers?: readonly Emit[];
  /** Ends a start that still waits; afterwards whoever holds the daemon stops it. Absent: never. */
  readonly stop?: AbortSignal;
  /** The environment, in which OpenTelemetry's variables may ask for traces. Absent: none are made. */
  readonly env?: TracingParts['env'];
  /** Another time than the machine's, for a test; the ledger is then in the same thread. */
  readonly clock?: Clock;
  readonly random?: Random;
}

/** What a leadsync has for as long as it runs: open, and not started. Sinks and sources come and go with the configuration. */
export interface Parts {
  readonly role: Role;
  /** Whether attempts are made in this process. */
  readonly delivers: boolean;
  /** The configuration in force. */
  readonly current: { config: Config };
  readonly openSinks: OpenSinks;
  readonly ledger: Ledger;
  readonly carrier: Carrier;
  readonly exportStates: ExportStates;
  readonly telemetry: Telemetry;
  readonly pollFailures: PollFailures;
  readonly wakes: Wakes;
  readonly clock: Clock;
  readonly random: Random;
  /** Rewrites the commands in a text into what its readers type. */
  readonly asTyped: (text: string) => string;
}

/** The sinks that leads are brought to. */
export function enabledSinks({ sinks }: Config): readonly SinkConfig[] {
  return sinks.filter((sink) => sink.enabled);
}

/**
 * Opens every lasting part and wires them: what is opened is pushed to `closers` at once. No connection is needed for it.
 * `tokenExpiresAt` tells of a source at work when the token in hand ends. @throws DataDirInUse, DataDirUnusable,
 * NewLedgerRefused, InstallationUnknown, StoppedBeforeStart, AdminAddressError, LedgerError
 */
export async function compose(
  options: DaemonOptions,
  tokenExpiresAt: (source: string) => Date | undefined,
  closers: Closers,
): Promise<Parts> {
  const { config, role } = options;
  const clock = options.clock ?? systemClock;
  const random = options.random ?? Math.random;
  const wakes = new Wakes(clock);
  const delivers = role.kind !== 'run' || role.deliver;
  const polls = role.kind !== 'worker';
  const current = { config };
  if (polls) {
    const lock = holdDataDir(config.dataDir);
    closers.push(() => lock.release());
    removeAdminEndpoint(config.dataDir); // of one that was killed
    await waitToStart(options, clock);
  }
  const ledger = await openLedger(current, { ...options, create: polls }, closers);
  const pollFailures = new PollFailures();
  const tracing = await openTracing({
    env: options.env ?? {},
    ledgerId: ledger.id,
    emit: (event) => telemetry.emit(event),
  });
  if (tracing) closers.push(() => tracing.close());
  const subscribers = [options.subscribers ?? [], pollFailures.observe, tracing?.observe ?? []].flat();
  const exportStates = new ExportStates(disk, config.dataDir);
  const exportRuns = (name: string) => {
    const { done, failed } = exportStates.read(name) ?? {};
    return { madeAt: done?.startedAt, failures: failed?.times ?? 0 };
  };
  const telemetry = openTelemetry({ ...options, subscribers }, { ledger, clock, tokenExpiresAt, exportRuns });
  const { emit } = telemetry;
  reportOpening(ledger, config.dataDir, emit);
  for (const warning of configWarnings(config)) emit({ type: 'config-warning', warning });
  const openSinks = new OpenSinks(clock);
  closers.push(() => openSinks.close());
  const onSettled = (sink: string) => wakes.notify(sink);
  const carrier = await openCarrier(config, {
    ledgerId: ledger.id,
    attempt: deliverBatch({ ledger, sinks: openSinks, clock, emit, tracing, onSettled }),
    deliver: delivers,
    clock,
    emit,
    onReady: () => wakes.notifyAll(),
  });
  closers.push(() => carrier.close(0));
  return {
    role,
    delivers,
    current,
    openSinks,
    ledger,
    carrier,
    exportStates,
    telemetry,
    pollFailures,
    wakes,
    clock,
    random,
    asTyped: (text) => asTyped(text, options.env ?? {}),
  };
}

async function openLedger(
  current: Parts['current'],
  { create, clock, random = Math.random }: { create: boolean } & Pick<DaemonOptions, 'clock' | 'random'>,
  closers: Closers,
): Promise<Ledger> {
  const { config } = current;
  // Random by nature: it must differ from every name that was ever used here.
  const holder = randomBytes(8).toString('hex');
  const parts = { create, holder, sinks: () => current.config.sinks };
  const ledger = clock
    ? openConfiguredLedger(config, { ...parts, clock, random })
    : await openThreadedLedger(config.dataDir, parts);
  closers.push(() => ledger.close());
  if (create) closers.push(() => ledger.recordProgress());
  const life = holdOwnProcessLock(config.dataDir, holder);
  closers.push(() => life.release());
  return ledger;
}

/** Reports an upgrade of the ledger, or that the ledger was restored from a backup. */
function reportOpening({ opening }: Pick<Ledger, 'opening'>, dataDir: string, emit: Emit): void {
  const { upgraded, isCopy } = opening;
  if (upgraded) {
    const { path: copy, skipped: reason } = { path: undefined, skipped: undefined, ...upgraded.copy };
    emit({ type: 'ledger-upgraded', fromSchema: upgraded.from, toSchema: upgraded.to, copy, reason });
  }
  if (isCopy) emit({ type: 'ledger-restored', dataDir });
}

function openTelemetry(
  { config, role, log, subscribers }: DaemonOptions,
  {
    ledger,
    clock,
    tokenExpiresAt,
    exportRuns,
  }: Pick<Parts, 'ledger' | 'clock'> & Pick<TelemetryOptions, 'tokenExpiresAt' | 'exportRuns'>,
): Telemetry {
  return createTelemetry({
    version,
    ...namesOf(config, role),
    now: () => clock.now(),
    backlog: () => ledger.backlog(),
    tokenExpiresAt,
    exportRuns,
    log: { ...config.log, stream: log },
    ...(subscribers ? { subscribers } : {}),
  });
}

/** The names that metrics are shown for. */
export function namesOf(
  config: Config,
  role: Role,
): { sources: readonly string[]; sinks: readonly string[]; exports: readonly string[] } {
  return {
    // A worker reads none: series that stay at 0 would look like polls that fail.
    sources: role.kind === 'worker' ? [] : config.sources.map(({ name }) => name),
    sinks: enabledSinks(config).map(({ name }) => name),
    exports: role.kind === 'run' ? config.exports.map(({ name }) => name) : [],
  };
}
