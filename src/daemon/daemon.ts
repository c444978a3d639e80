import { type Config, filesOf } from '../config/contract/config.ts';
import type { Ledger } from '../ledger/contract/ledger.ts';
import { LedgerError } from '../ledger/contract/ledger-error.ts';
import type { LedgerStatus } from '../ledger/contract/status-rows.ts';
import { noteErasures, reapplyErasures } from '../operations/erasure/erasure-journal.ts';
import { ledgerPlaceOf } from '../operations/opening/configured-ledger.ts';
import { reclaimAtStart } from '../operations/opening/reclaim-leases.ts';
import { exportOnSchedule, reportExports } from '../operations/scheduled-exports.ts';
import { Closers } from '../platform/process/closers.ts';
import { processMemory } from '../platform/process/memory.ts';
import { version } from '../platform/process/version.ts';
import type { PolledOnce } from './joints/poll.ts';
import { type Loop, Loops } from './joints/restarting-loops.ts';
import { compose } from './start/compose.ts';
import { type DaemonOptions, enabledSinks, type Parts } from './start/parts.ts';
import { reloadAnswer } from './units/reload-answer.ts';
import { Reloader, type ReloadResult, type ReloadTrigger } from './units/reloader.ts';
import { RunningUnits } from './units/running-units.ts';
import type { SourceUnit } from './units/source-unit.ts';
import { computeClientKeys, computeMissingClientKeys } from './upkeep/compute-client-keys.ts';
import { inspectLedger, recordProgress, tidyLedger } from './upkeep/maintain-ledger-file.ts';
import { noteErasuresOfOthers } from './upkeep/note-erasures.ts';
import { releaseMemory } from './upkeep/release-memory.ts';
import { retain } from './upkeep/retain.ts';
import { type DaemonFailure, ledgerReplaced } from './watching/ledger-lost.ts';
import { sendHeartbeats } from './watching/send-heartbeats.ts';
import { watchAlerts } from './watching/watch-alerts.ts';
import { watchClock } from './watching/watch-clock.ts';
import { stampOf, watchConfig } from './watching/watch-config.ts';
import { watchExternalWrites, watchProcesses } from './watching/watch-ledger.ts';
import { watchProgram } from './watching/watch-program.ts';

/** How long `sync` waits for an unavailable carrier, in ms. */
const CARRIER_PATIENCE_MS = 10_000;
/** Niceness of export processes (see nice(1)), so that polls and deliveries get the CPU first. */
const EXPORT_NICENESS = 5;
/** Maximum time for closing everything after the grace period for attempts, in ms. */
const CLOSING_MS = 3_000;

/** Why a process is not ready that the others may take for dead. */
const UNSEEN =
  'The ledger has not recorded for several seconds that this process is alive. This process neither polls nor delivers until the ledger records it.';

/** A running leadsync. Starts its parts in order and stops them in reverse order. */
export class Daemon {
  readonly #parts: Parts;
  readonly #closers: Closers;
  readonly #loops: Loops;
  readonly #installation: RunningUnits;
  readonly #reloader: Reloader;
  readonly #started = Promise.withResolvers<void>();
  readonly #failed = Promise.withResolvers<DaemonFailure>();
  readonly #exportsUnderway = new Set<string>();
  /** The last request to every process of the ledger to reload. */
  #requested: string | undefined;

  private constructor(
    parts: Parts,
    sources: Map<string, SourceUnit>,
    options: DaemonOptions,
    closers: Closers,
    loadedStamp: string,
  ) {
    const { load = () => options.config } = options;
    this.#parts = parts;
    this.#closers = closers;
    this.#loops = new Loops(parts);
    this.#installation = new RunningUnits(parts, sources);
    this.#reloader = new Reloader(
      this.#installation,
      { load, stamp: stampOf },
      {
        clock: parts.clock,
        emit: this.#emit,
        config: options.config,
        loadedStamp,
        ready: this.#started.promise,
        audit: parts.audit,
      },
    );
  }

  /**
   * Starts leadsync. If a part fails to start, closes the parts that are already open.
   * @throws DataDirInUse, DataDirUnusable, NewLedgerRefused, InstallationUnknown, StoppedBeforeStart, AdminAddressError, LedgerError
   */
  static async start(options: DaemonOptions): Promise<Daemon> {
    const closers = new Closers();
    const sources = new Map<string, SourceUnit>();
    const { loadedStamp = stampOf(options.config) } = options;
    try {
      const parts = await compose(options, (name) => sources.get(name)?.tokenExpiresAt(), closers);
      const daemon = new Daemon(parts, sources, options, closers, loadedStamp);
      await daemon.#start(options.admin);
      return daemon;
    } catch (error) {
      await closers.closeAll();
      throw error;
    }
  }

  async #start(listen: DaemonOptions['admin']): Promise<void> {
    const { role, ledger, processes, carrier } = this.#parts;
    if (listen) await this.#openAdmin(listen);
    this.#emit({
      type: 'started',
      version,
      carrier: carrier.kind,
      sources: role.kind === 'worker' ? 0 : this.config.sources.length,
      sinks: enabledSinks(this.config).length,
      dataDir: this.config.dataDir,
      where: ledgerPlaceOf(this.config).where,
    });
    const changes = await this.#installation.plan(this.config);
    if (changes.length > 0) this.#emit({ type: 'configured', changes });
    await this.#installation.declare();
    if (role.kind !== 'worker') {
      await reclaimAtStart(ledger, processes, this.#parts.clock.now());
      const leads = await reapplyErasures(ledger, this.config);
      if (leads > 0) this.#emit({ type: 'erased-again', leads });
      await noteErasures(ledger, this.config.dataDir);
    }
    await this.#installation.start();
    this.#listenToOthers();
    this.#started.resolve();
    if (role.kind !== 'worker') this.#startWatching();
    if (role.kind === 'run') this.#startUnattended();
    this.#loops.start('watching for a replaced ledger', async (signal) => {
      const failure = await ledgerReplaced(this.#parts, signal);
      if (failure) this.#failed.resolve(failure);
    });
    this.#loops.start('watching the program', (signal) =>
      watchProgram(this.#parts.clock, this.#emit, signal),
    );
    this.#loops.start('watching the configuration', (signal) =>
      watchConfig(
        () => stampOf(this.#reloader.files),
        () => this.#reloader.loadedStamp,
        async () => this.config.watch && this.reload('watch'),
        this.#parts.clock,
        signal,
      ),
    );
  }

  /** Does what other processes of the ledger tell, and shows them the sinks again after they may have taken this one for dead. */
  #listenToOthers(): void {
    const { shared } = this.#parts;
    shared?.machines.onMessage((message) => {
      if (message.kind === 'reload') void this.#reloadWithOthers(message.request);
      if (message.kind === 'poll') this.#installation.pollIfHeld(message.source);
      if (message.kind !== 'export' || !shared.duties.holds('exports')) return;
      if (filesOf(this.config).some(({ name }) => name === message.name))
        this.#exportsUnderway.add(message.name);
    });
    shared?.duties.life.onRevival(() => {
      if (!this.#loops.signal.aborted) void this.#declareAgain();
    });
  }

  /** Reloads because every process of the ledger is asked to, once for each request, and shows the others what became of it. */
  async #reloadWithOthers(request: string): Promise<void> {
    const { role, shared } = this.#parts;
    if (role.kind === 'sync' || this.#requested === request) return;
    this.#requested = request;
    await shared?.showReload(reloadAnswer(request, await this.reload('all')));
  }

  async #declareAgain(): Promise<void> {
    try {
      await this.#installation.declare();
    } catch (error) {
      if (!(error instanceof LedgerError)) throw error;
      const { message: reason, hint } = error;
      this.#emit({ type: 'ledger-failed', operation: 'declaring the sinks', reason, hint });
    }
  }

  /** The configuration in force. */
  get config(): Config {
    return this.#parts.current.config;
  }

  /** Resolves if leadsync cannot continue. The caller must then stop this daemon; only a restart helps. */
  get failed(): Promise<DaemonFailure> {
    return this.#failed.promise;
  }

  /** Reads the configuration again and applies it. An invalid configuration changes nothing. */
  reload(trigger: ReloadTrigger): Promise<ReloadResult> {
    return this.#reloader.reload(trigger);
  }

  async #openAdmin(listen: NonNullable<DaemonOptions['admin']>): Promise<void> {
    const { serveAdmin } = await import('./api/serve-admin.ts'); // lazy: without an admin address, the server would only waste memory
    await serveAdmin(listen, this.#parts, this.#closers, {
      unready: () => this.#unready(),
      state: () => this.#reloader.state,
      reload: () => this.reload('request'),
      previewReload: (withPlan) => this.#reloader.preview(withPlan),
      pollNow: (source) => this.#installation.pollNow(source),
      exportsUnderway: this.#exportsUnderway,
    });
  }

  async #unready(): Promise<readonly string[]> {
    if (this.#loops.signal.aborted) return ['leadsync is stopping'];
    const { ledger, carrier, shared } = this.#parts;
    const failing = (await unreadable(ledger)) ?? ledger.failing();
    const isUnseen = shared?.duties.life.isAlive() === false;
    return [
      failing && `${failing.message} ${failing.hint}`,
      isUnseen ? UNSEEN : undefined,
      carrier.unready(),
    ].filter((reason) => reason !== undefined);
  }

  #startWatching(): void {
    const { ledger, clock, shared } = this.#parts;
    this.#loops.start('watching for external writes', (signal) => watchExternalWrites(this.#parts, signal));
    this.#loops.start('releasing memory', (signal) => releaseMemory(ledger, processMemory(), clock, signal));
    this.#loops.start('recording progress', (signal) => recordProgress(ledger, clock, signal));
    if (shared)
      this.#loops.start('noting erasures', (signal) =>
        noteErasuresOfOthers(ledger, this.config.dataDir, clock, signal),
      );
    this.#startUpkeep();
  }

  #startUpkeep(): void {
    const { role, ledger, clock } = this.#parts;
    const emit = this.#emit;
    const start = (doing: string, run: Loop) => this.#loops.startWhileHeld('upkeep', doing, run);
    start('watching the clock', (signal) => watchClock(ledger, clock, emit, signal));
    start('tidying the ledger', (signal) => tidyLedger(ledger, clock, emit, signal));
    start('applying retention', (signal) =>
      retain(() => this.config.retention, { ledger, clock, emit }, signal),
    );
    const key = () => this.config.clientKey;
    start('computing client keys', (signal) => computeClientKeys(ledger, key, clock, signal));
    start('watching the other processes', (signal) => watchProcesses(this.#parts, signal));
    if (role.kind === 'run') start('looking for damage', (signal) => inspectLedger(ledger, emit, signal));
  }

  #startUnattended(): void {
    const start = (doing: string, run: Loop) => this.#loops.startWhileHeld('alerts', doing, run);
    start('watching for alerts', (signal) => watchAlerts(this.#parts, this.#reloader, signal));
    start('sending heartbeats', (signal) => sendHeartbeats(this.#parts, () => this.#unready(), signal));
    this.#startExporting();
  }

  #startExporting(): void {
    const { exportStates: states, clock, random } = this.#parts;
    const parts = {
      states,
      ledger: ledgerPlaceOf(this.config).tables,
      clock,
      random,
      niceness: EXPORT_NICENESS,
    };
    const onRunEnd = reportExports(this.#emit, clock);
    this.#loops.startWhileHeld('exports', 'exporting', (signal) =>
      exportOnSchedule(() => filesOf(this.config), parts, onRunEnd, signal, this.#exportsUnderway),
    );
  }

  get #emit() {
    return this.#parts.telemetry.emit;
  }

  /** Polls all sources once, concurrently, except those that other processes poll. */
  pollOnce(signal: AbortSignal): Promise<readonly PolledOnce[]> {
    return this.#installation.pollOnce(signal);
  }

  /** Updates every mirror once; `run` does so continuously. */
  mirrorOnce(signal: AbortSignal): Promise<void> {
    return this.#installation.mirrorOnce(signal);
  }

  /** Computes every missing client key once; `run` does so continuously. */
  computeMissingClientKeys(signal: AbortSignal): Promise<void> {
    return computeMissingClientKeys(this.#parts.ledger, this.config.clientKey, signal);
  }

  /**
   * Resolves when every backfill has finished, no batch is in flight and no delivery is due. Also resolves when the carrier has been
   * unavailable for `CARRIER_PATIENCE_MS`, or when the signal aborts.
   */
  async drained(signal: AbortSignal): Promise<void> {
    const { carrier, clock } = this.#parts;
    let owed = false;
    void this.#installation.owed().then(() => {
      owed = true;
    });
    let readyMs = clock.monotonicMs();
    while (!signal.aborted && (!owed || (await this.#busy()))) {
      if (carrier.unready() === undefined) readyMs = clock.monotonicMs();
      if (clock.monotonicMs() - readyMs > CARRIER_PATIENCE_MS) return;
      await clock.sleep(20, signal);
    }
  }

  async #busy(): Promise<boolean> {
    const { ledger } = this.#parts;
    const work = await Promise.all(enabledSinks(this.config).map(({ name }) => ledger.workOf(name)));
    return work.some(({ inFlight, due }) => inFlight > 0 || due);
  }

  /** Returns the number of pending deliveries to the enabled sinks. */
  async pending(): Promise<number> {
    const names = new Set(enabledSinks(this.config).map(({ name }) => name));
    return (await this.#parts.ledger.backlog())
      .filter(({ sink }) => names.has(sink))
      .reduce((total, { pending }) => total + pending, 0);
  }

  status(): Promise<LedgerStatus> {
    return this.#parts.ledger.status();
  }

  /**
   * Stops polling and claiming, gives attempts in progress `graceMs` to end, then closes everything. Returns false if this took longer than
   * `graceMs` plus `CLOSING_MS`, or if a part could not be closed; no lead is lost even then.
   */
  async stop(reason: string, graceMs: number): Promise<boolean> {
    this.#emit({ type: 'stopping', signal: reason, graceMs });
    this.#reloader.close();
    this.#loops.stop();
    const late = new AbortController();
    const clean = await Promise.race([
      this.#close(graceMs),
      this.#parts.clock.sleep(graceMs + CLOSING_MS, late.signal).then(() => false),
    ]);
    late.abort();
    this.#emit({ type: 'stopped', clean });
    return clean;
  }

  async #close(graceMs: number): Promise<boolean> {
    const stopped = this.#installation.stop(graceMs);
    await Promise.all([this.#parts.carrier.close(graceMs), this.#loops.ended(), stopped]);
    await this.#installation.retired();
    const failures = await this.#closers.closeAll();
    for (const failure of failures) this.#parts.telemetry.logger.fault('closing', failure);
    return failures.length === 0;
  }
}

/** Returns the error because of which the ledger cannot be read now; undefined if it can. */
async function unreadable(ledger: Ledger): Promise<LedgerError | undefined> {
  try {
    await ledger.listingMark('');
    return undefined;
  } catch (error) {
    if (error instanceof LedgerError) return error;
    throw error;
  }
}
