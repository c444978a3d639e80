import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { configFingerprint } from '../../config/config-fingerprint.ts';
import { configWarnings } from '../../config/config-warnings.ts';
import { type Config, filesOf } from '../../config/contract/config.ts';
import type { Ledger } from '../../ledger/contract/ledger.ts';
import { CompiledMappings } from '../../mapping/compiled-mappings.ts';
import { diskSizes } from '../../operations/disk-space.ts';
import { removeAdminEndpoint } from '../../operations/opening/admin-endpoint.ts';
import { ledgerPlaceOf, openConfiguredLedger } from '../../operations/opening/configured-ledger.ts';
import { alertsIn, exportStatesIn } from '../../operations/opening/installation-stores.ts';
import { holdDataDir } from '../../operations/opening/open-ledger.ts';
import { OpenSinks } from '../../operations/opening/open-sinks.ts';
import { processesOf } from '../../operations/opening/processes.ts';
import { SharedProcesses } from '../../operations/opening/shared-processes.ts';
import { takeOverStores } from '../../operations/opening/take-over-stores.ts';
import type { Closers } from '../../platform/process/closers.ts';
import { rewriteCommands } from '../../platform/process/typed-command.ts';
import { version } from '../../platform/process/version.ts';
import { systemClock } from '../../platform/time/clock.ts';
import { dueAt } from '../../status/export-view.ts';
import { NextPolls } from '../../status/next-poll.ts';
import { DiskTrend } from '../../status/problems/disk-trend.ts';
import type { Emit } from '../../telemetry/events.ts';
import { openTracing } from '../../telemetry/open-tracing.ts';
import { createTelemetry, type Telemetry, type TelemetryOptions } from '../../telemetry/telemetry.ts';
import { everyDuty } from '../duties/duties.ts';
import { BatchThrottles } from '../joints/batch-throttle.ts';
import { deliverBatch } from '../joints/deliver.ts';
import { openCarrier } from '../joints/open-carrier.ts';
import { PollFailures } from '../joints/poll-failures.ts';
import { Wakes } from '../joints/wake.ts';
import { joinMachines, machineReaders } from './join-machines.ts';
import { type DaemonOptions, enabledSinks, type Parts, type Role } from './parts.ts';
import { openThreadedLedger } from './start-ledger-thread.ts';
import { waitToStart } from './wait-to-start.ts';

/**
 * Opens the long-lived parts, connects them to each other, and adds a function to `closers` that closes each part. Needs no network
 * connection unless the ledger is missing. `tokenExpiresAt` returns when the current access token of a source expires, for the metrics.
 * @throws DataDirInUse, DataDirUnusable, NewLedgerRefused, InstallationUnknown, StoppedBeforeStart, AdminAddressError, LedgerError
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
  const throttles = new BatchThrottles(clock);
  const delivers = role.kind !== 'run' || role.deliver;
  const polls = role.kind !== 'worker';
  const current = { config };
  if (polls) {
    const lock = holdDataDir(config.dataDir);
    closers.push(() => lock.release());
    removeAdminEndpoint(config.dataDir); // a killed process leaves its file behind
    await waitToStart(options, clock);
  }
  const opened = await openLedger(current, { ...options, create: polls }, closers);
  const { ledger, shared, processes } = opened;
  const pollFailures = new PollFailures(clock);
  const tracing = await openTracing({
    env: options.env ?? {},
    ledgerId: ledger.id,
    emit: (event) => telemetry.emit(event),
  });
  if (tracing) closers.push(() => tracing.close());
  const subscribers = [options.subscribers ?? [], pollFailures.observe, tracing?.observe ?? []].flat();
  const stores = await ledgerPlaceOf(config).openStores({ clock, rotates: true });
  closers.push(() => stores.close());
  const exportStates = exportStatesIn(stores, config);
  const exportRuns = async (name: string) => {
    const state = await exportStates.read(name).catch(() => undefined); // the ledger is away, which other metrics show
    const one = filesOf(current.config).find((config) => config.name === name);
    return {
      madeAt: state?.done?.startedAt,
      dueAt: state && one && dueAt(one, state),
      bytes: state?.done?.bytes,
      failures: state?.failed?.times ?? 0,
    };
  };
  const nextPolls = new NextPolls();
  const pollDueAt = async (name: string) => {
    const schedule = current.config.sources.find((source) => source.name === name)?.poll;
    const last = schedule && (await ledger.lastCompleteAt(name));
    return last && nextPolls.after(name, schedule, last);
  };
  const readers = { tokenExpiresAt, pollDueAt, exportRuns, machines: shared && machineReaders(shared, role) };
  const telemetry = openTelemetry({ ...options, subscribers }, { ledger, clock, ...readers });
  const { emit } = telemetry;
  reportOpening(ledger, config, emit);
  if (polls) await takeOverStores(config, stores, { clock, random, emit });
  for (const warning of configWarnings(config)) emit({ type: 'config-warning', warning });
  const openSinks = new OpenSinks(clock, () => current.config.publicUrl);
  closers.push(() => openSinks.close());
  const mappings = new CompiledMappings(() => current.config.clientKey);
  const onSettled = (sink: string) => wakes.notify(sink);
  const carrier = await openCarrier(config, {
    ledgerId: ledger.id,
    attempt: deliverBatch({
      ledger,
      sinks: openSinks,
      mappings,
      clock,
      emit,
      life: shared?.duties.life,
      tracing,
      onSettled,
    }),
    deliver: delivers,
    isAlive: () => shared?.duties.life.isAlive() ?? true,
    clock,
    emit,
    onReady: () => wakes.notifyAll(),
  });
  closers.push(() => carrier.close(0));
  shared?.duties.life.onRevival(() => wakes.notifyAll());
  return {
    role,
    duties: options.duties ?? shared?.duties ?? everyDuty,
    delivers,
    current,
    openSinks,
    ledger,
    shared,
    processes,
    carrier,
    stores,
    exportStates,
    alerts: alertsIn(stores),
    audit: stores.audit,
    telemetry,
    pollFailures,
    diskTrend: new DiskTrend(),
    wakes,
    throttles,
    clock,
    random,
    rewriteCommands: (text) => rewriteCommands(text, options.env ?? {}),
  };
}

async function openLedger(
  current: Parts['current'],
  { role, create, clock = systemClock, ...options }: { create: boolean } & DaemonOptions,
  closers: Closers,
): Promise<Pick<Parts, 'ledger' | 'shared' | 'processes'>> {
  const { config } = current;
  // Not from `random`, because the name must differ from every name that has ever been used here, even in a test with a seed.
  const holder = randomBytes(8).toString('hex');
  const parts = { create, holder, sinks: () => current.config.sinks };
  const { file } = ledgerPlaceOf(config);
  const random = options.random ?? Math.random;
  const ledger =
    file === undefined || clock !== systemClock
      ? await openConfiguredLedger(config, { ...parts, clock, random })
      : await openThreadedLedger(file, parts);
  closers.push(() => ledger.close());
  if (create) closers.push(() => ledger.recordProgress());
  const here = processesOf(config.dataDir);
  const own = await here.join(holder);
  let shared: Parts['shared'];
  // Without the sign of life, a start on the same data directory would not know that the process is dead whose duties and leases the ledger still has.
  closers.push(() => {
    if (shared?.hasLeft() !== false) own.release();
  });
  const machine = options.env?.['LEADSYNC_MACHINE'] ?? hostname();
  shared = await joinMachines(
    ledger,
    {
      role: role.kind,
      clock,
      machine,
      fingerprint: () => configFingerprint(current.config.values),
    },
    closers,
  );
  const processes = shared ? new SharedProcesses(here, shared.duties.others, shared.machines) : here;
  return { ledger, shared, processes };
}

/** Reports that the ledger was upgraded or restored from a backup. */
function reportOpening({ opening }: Pick<Ledger, 'opening'>, config: Config, emit: Emit): void {
  const { upgraded, isCopy } = opening;
  if (upgraded) {
    const { path: copy, skipped: reason } = { path: undefined, skipped: undefined, ...upgraded.copy };
    emit({ type: 'ledger-upgraded', fromSchema: upgraded.from, toSchema: upgraded.to, copy, reason });
  }
  const { where } = ledgerPlaceOf(config);
  if (isCopy) emit({ type: 'ledger-restored', dataDir: config.dataDir, where });
}

function openTelemetry(
  { config, role, log, subscribers, env = {} }: DaemonOptions,
  {
    ledger,
    clock,
    ...readers
  }: Pick<Parts, 'ledger' | 'clock'> &
    Pick<TelemetryOptions, 'tokenExpiresAt' | 'pollDueAt' | 'exportRuns' | 'machines'>,
): Telemetry {
  return createTelemetry({
    version,
    ...namesOf(config, role),
    now: () => clock.now(),
    backlog: () => ledger.backlog(),
    ...readers,
    disk: () => diskSizes(config),
    repeatedTransactions: () => ledger.repeatedTransactions?.(),
    log: { ...config.log, stream: log, rewriteCommands: (text) => rewriteCommands(text, env) },
    ...(subscribers ? { subscribers } : {}),
  });
}

/** Returns the names of the sources, sinks, exports, backups and destinations of alerts that get metrics. */
export function namesOf(
  config: Config,
  role: Role,
): Pick<TelemetryOptions, 'sources' | 'sinks' | 'exports' | 'backups' | 'destinations'> {
  return {
    // A worker polls no source, and series that stay at 0 would look like failing polls.
    sources: role.kind === 'worker' ? [] : config.sources.map(({ name }) => name),
    sinks: enabledSinks(config).map(({ name }) => name),
    exports: role.kind === 'run' ? config.exports.map(({ name }) => name) : [],
    backups: role.kind === 'run' ? config.backups.map(({ name }) => name) : [],
    destinations: role.kind === 'run' ? Object.keys(config.alerts.to) : [],
  };
}
