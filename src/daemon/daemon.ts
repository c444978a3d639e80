import { randomBytes } from 'node:crypto';
import { type AdminServer, startAdmin } from '../admin/server.ts';
import type { Config, SinkConfig } from '../config/config.ts';
import type { Carrier } from '../delivery/carrier.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { LedgerError } from '../ledger/ledger-error.ts';
import { type Clock, type Random, systemClock } from '../platform/clock.ts';
import { Closers } from '../platform/closers.ts';
import { version } from '../platform/version.ts';
import { openSource } from '../source/http-source.ts';
import type { Source } from '../source/source.ts';
import type { Emit } from '../telemetry/events.ts';
import type { LogStream } from '../telemetry/logger.ts';
import { createTelemetry, type Telemetry } from '../telemetry/telemetry.ts';
import { backfill } from './backfill.ts';
import { openCarrier, pace } from './carrier-choice.ts';
import { deliverBatch } from './deliver.ts';
import { type DispatchParts, dispatch } from './dispatch.ts';
import { freeTheDead, showOwnLife } from './free-the-dead.ts';
import { holdDataDir, openConfiguredLedger } from './open-ledger.ts';
import { openSinks } from './open-sinks.ts';
import { type PollFailure, type PollParts, poll } from './poll.ts';
import { pollLoop } from './poll-loop.ts';
import { Wake } from './wake.ts';
import { watchClock } from './watch-clock.ts';
import { watchWorkers } from './watch-workers.ts';

/** What this process is to do. */
export type Role =
  /** Polls on schedule, dispatches, and delivers unless other processes do. */
  | { readonly kind: 'run'; readonly deliver: boolean }
  /** Delivers alone, beside a `run --no-deliver`. */
  | { readonly kind: 'worker' }
  /** Polls once, and does not wait for batches to fill. */
  | { readonly kind: 'sync' };

export interface DaemonOptions {
  readonly config: Config;
  readonly role: Role;
  /** Where the admin server listens; undefined: nowhere. */
  readonly admin: { readonly host: string; readonly port: number } | undefined;
  readonly log: LogStream;
  /** Who else wants every event: progress on a terminal. */
  readonly subscribers?: readonly Emit[];
  readonly clock?: Clock;
  readonly random?: Random;
}

/** How often it is looked whether another process wrote to the ledger, in ms. */
const LOOK_ELSEWHERE_MS = 100;
/** How often it is looked whether a process died in the middle of an attempt, in ms. */
const WATCH_PROCESSES_MS = 2_000;
const AFTER_FAULT_MS = 1_000;
/** How long `sync` waits for a carrier that is away, in ms. */
const CARRIER_PATIENCE_MS = 10_000;
/** What closing may take beyond the grace given to attempts, in ms. */
const CLOSING_MS = 2_000;

/** A leadsync that runs: everything opened, wired and started; and stopped in the opposite order. */
export class Daemon {
  readonly #config: Config;
  readonly #role: Role;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #closers: Closers;
  readonly #stopping = new AbortController();
  readonly #loops: Promise<void>[] = [];
  readonly #backfills: Promise<void>[] = [];
  readonly #wakes = new Map<string, Wake>();
  readonly #sinks: readonly SinkConfig[];
  readonly #sources: readonly Source[];
  readonly #ledger: Ledger;
  readonly #telemetry: Telemetry;
  readonly #carrier: Carrier;

  /** Opens everything and starts nothing. @throws DataDirHeld, DataDirUnusable, LedgerError */
  private constructor(options: DaemonOptions, closers: Closers) {
    this.#closers = closers;
    this.#config = options.config;
    this.#role = options.role;
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? Math.random;
    this.#sinks = options.config.sinks.filter((sink) => sink.enabled);
    for (const sink of this.#sinks) this.#wakes.set(sink.name, new Wake(this.#clock));
    if (this.#role.kind !== 'worker') {
      const lock = holdDataDir(this.#config.dataDir);
      this.#closers.push(() => lock.release());
    }
    this.#ledger = this.#openLedger();
    this.#telemetry = this.#openTelemetry(options);
    this.#sources = this.#role.kind === 'worker' ? [] : this.#openSources();
    this.#carrier = this.#openCarrier();
  }

  /** Starts a leadsync. When starting fails, what was opened is closed again. @throws DataDirHeld, DataDirUnusable, LedgerError, AdminAddressError */
  static async start(options: DaemonOptions): Promise<Daemon> {
    const closers = new Closers();
    try {
      const daemon = new Daemon(options, closers);
      await daemon.#start(options.admin);
      return daemon;
    } catch (error) {
      await closers.closeAll();
      throw error;
    }
  }

  get emit(): Emit {
    return this.#telemetry.emit;
  }

  async #start(listen: DaemonOptions['admin']): Promise<void> {
    if (listen) await this.#openAdmin(listen);
    this.emit({
      type: 'started',
      version,
      carrier: this.#carrier.kind,
      sources: this.#sources.length,
      sinks: this.#sinks.length,
      dataDir: this.#config.dataDir,
    });
    if (this.#role.kind !== 'worker') {
      await this.#ledger.declareSinks(this.#sinks);
      await freeTheDead(this.#ledger, this.#config.dataDir);
      this.#startDispatch();
    }
    this.#startWatchingWorkers();
    if (this.#role.kind === 'run') for (const source of this.#sources) this.#startPolling(source);
  }

  #openLedger(): Ledger {
    const create = this.#role.kind !== 'worker';
    // Random by nature: it must differ from every name that was ever used here.
    const holder = randomBytes(8).toString('hex');
    const ledger = openConfiguredLedger(this.#config, {
      clock: this.#clock,
      random: this.#random,
      create,
      holder,
    });
    this.#closers.push(() => ledger.close());
    const life = showOwnLife(this.#config.dataDir, holder);
    this.#closers.push(() => life.release());
    return ledger;
  }

  #openTelemetry(options: DaemonOptions): Telemetry {
    const { config } = options;
    return createTelemetry({
      version,
      sources: config.sources.map((source) => source.name),
      sinks: this.#sinks.map((sink) => sink.name),
      now: () => this.#clock.now(),
      backlog: () => this.#ledger.backlog(),
      tokenExpiresAt: (name) => this.#sources.find((source) => source.name === name)?.tokenExpiresAt(),
      log: { ...config.log, stream: options.log },
      ...(options.subscribers ? { subscribers: options.subscribers } : {}),
    });
  }

  #openSources(): Source[] {
    const { dataDir, tokenKey } = this.#config;
    return this.#config.sources.map(({ name, options }) => {
      const source = openSource(name, options, {
        clock: this.#clock,
        random: this.#random,
        dataDir,
        tokenKey,
        emit: this.emit,
      });
      this.#closers.push(() => source.close());
      return source;
    });
  }

  #openCarrier(): Carrier {
    const sinks = openSinks(this.#sinks, this.#clock);
    for (const { sink } of sinks.values()) this.#closers.push(() => sink.close());
    const onSettled = (sink: string) => this.#wakes.get(sink)?.notify();
    const attempt = deliverBatch({
      ledger: this.#ledger,
      sinks,
      clock: this.#clock,
      emit: this.emit,
      onSettled,
    });
    const deliver = this.#role.kind !== 'run' || this.#role.deliver;
    if (deliver)
      for (const [name, { sink }] of sinks) this.#checkSink(name, () => sink.check(this.#stopping.signal));
    const carrier = openCarrier(this.#config, this.#sinks, {
      ledgerId: this.#ledger.id,
      attempt,
      deliver,
      clock: this.#clock,
      emit: this.emit,
      onReady: this.#wakeAll,
    });
    this.#closers.push(() => carrier.close(0));
    return carrier;
  }

  /** Says at once what would otherwise show with the first lead. Deliveries do not wait for it. */
  #checkSink(sink: string, check: () => Promise<void>): void {
    check().catch((error: { message: string; hint?: string }) => {
      if (this.#stopping.signal.aborted) return;
      this.emit({ type: 'check-failed', sink, reason: error.message, hint: error.hint ?? '' });
    });
  }

  async #openAdmin({ host, port }: { host: string; port: number }): Promise<AdminServer> {
    const admin = await startAdmin({
      host,
      port,
      ready: () => this.#unready(),
      registry: this.#telemetry.registry,
    });
    this.#closers.push(() => admin.close());
    return admin;
  }

  async #unready(): Promise<readonly string[]> {
    if (this.#stopping.signal.aborted) return ['leadsync is stopping'];
    await this.#ledger.listingMark(''); // rejects when the ledger cannot be read
    const carrier = this.#carrier.unready();
    return carrier ? [carrier] : [];
  }

  #startDispatch(): void {
    for (const sink of this.#sinks) {
      const wake = this.#wakeOf(sink.name);
      const parts: DispatchParts = {
        ledger: this.#ledger,
        carrier: this.#carrier,
        clock: this.#clock,
        emit: this.emit,
        wake,
      };
      const waitMs = this.#role.kind === 'sync' ? 0 : sink.batch.waitMs;
      const request = { sink: sink.name, max: sink.batch.max, waitMs, ...pace(this.#config, sink) };
      this.#loop(`dispatching to ${sink.name}`, (signal) => dispatch(request, parts, signal));
      const done = this.#loop(`backfilling ${sink.name}`, (signal) => backfill(sink.name, parts, signal));
      this.#backfills.push(done);
    }
    this.#loop('watching the clock', async (signal) => {
      await watchClock(this.#ledger, this.#clock, this.emit, signal);
    });
    this.#loop('watching the ledger', (signal) => this.#lookElsewhere(signal));
    this.#loop('watching the other processes', (signal) => this.#watchProcesses(signal));
  }

  #startWatchingWorkers(): void {
    if (!this.#carrier.workers) return;
    const parts = { ledger: this.#ledger, carrier: this.#carrier, clock: this.#clock, emit: this.emit };
    for (const { name } of this.#sinks)
      this.#loop(`watching the worker of ${name}`, (signal) => watchWorkers(name, parts, signal));
  }

  #startPolling(source: Source): void {
    const schedule = this.#config.sources.find(({ name }) => name === source.name)?.poll;
    if (!schedule) return;
    const parts = { ...this.#pollParts(source), schedule, random: this.#random };
    this.#loop(`polling ${source.name}`, (signal) => pollLoop(parts, signal));
  }

  #pollParts(source: Source): PollParts {
    return { source, ledger: this.#ledger, clock: this.#clock, emit: this.emit, onOwed: this.#wakeAll };
  }

  /** Something may be due for any sink. */
  readonly #wakeAll = () => {
    for (const wake of this.#wakes.values()) wake.notify();
  };

  #wakeOf(sink: string): Wake {
    return this.#wakes.get(sink) as Wake;
  }

  /** Notices what workers settled and what commands changed. */
  async #lookElsewhere(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      if (this.#ledger.changedElsewhere()) this.#wakeAll();
      await this.#clock.sleep(LOOK_ELSEWHERE_MS, signal);
    }
  }

  async #watchProcesses(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#clock.sleep(WATCH_PROCESSES_MS, signal);
      if ((await freeTheDead(this.#ledger, this.#config.dataDir)) > 0) this.#wakeAll();
    }
  }

  /** Keeps a loop going until the stop. A fault in it is told, and does not end the others. */
  #loop(doing: string, run: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const { signal } = this.#stopping;
    const keepGoing = async () => {
      for (;;) {
        try {
          return await run(signal);
        } catch (error) {
          if (signal.aborted) return;
          if (error instanceof LedgerError)
            this.emit({
              type: 'ledger-failed',
              operation: doing,
              reason: error.message,
              hint: error.hint,
            });
          else this.#telemetry.logger.fault(doing, error);
          await this.#clock.sleep(AFTER_FAULT_MS, signal);
        }
      }
    };
    const loop = keepGoing();
    this.#loops.push(loop);
    return loop;
  }

  /** Polls every source once, at the same time. Gives the failures. */
  async pollOnce(signal: AbortSignal): Promise<readonly PollFailure[]> {
    const failures = await Promise.all(this.#sources.map((source) => poll(this.#pollParts(source), signal)));
    return failures.filter((failure) => failure !== undefined);
  }

  /**
   * Resolves when everything is owed that is to be, nothing is on its way and nothing more is due now; when the carrier
   * stays away, so that none of it can travel; or when the signal aborts.
   */
  async drained(signal: AbortSignal): Promise<void> {
    let owed = false;
    void Promise.all(this.#backfills).then(() => {
      owed = true;
    });
    let readyMs = this.#clock.monotonicMs();
    while (!signal.aborted && (!owed || (await this.#busy()))) {
      if (this.#carrier.unready() === undefined) readyMs = this.#clock.monotonicMs();
      if (this.#clock.monotonicMs() - readyMs > CARRIER_PATIENCE_MS) return;
      await this.#clock.sleep(20, signal);
    }
  }

  async #busy(): Promise<boolean> {
    const activities = await Promise.all(this.#sinks.map((sink) => this.#ledger.activity(sink.name)));
    return activities.some(({ onTheirWay, due }) => onTheirWay > 0 || due);
  }

  /** How many deliveries wait for the sinks that there are. */
  async pending(): Promise<number> {
    const backlog = await this.#ledger.backlog();
    return backlog
      .filter(({ sink }) => this.#wakes.has(sink))
      .reduce((total, { pending }) => total + pending, 0);
  }

  status() {
    return this.#ledger.status();
  }

  /**
   * Stops in order: no new polls and claims, attempts under way may end within `graceMs`, then everything is closed.
   * Gives false when something had to be cut off or could not be closed; nothing is lost either way.
   */
  async stop(reason: string, graceMs: number): Promise<boolean> {
    this.emit({ type: 'stopping', signal: reason, graceMs });
    this.#stopping.abort();
    const late = new AbortController();
    const work = this.#close(graceMs);
    const clean = await Promise.race([
      work,
      this.#clock.sleep(graceMs + CLOSING_MS, late.signal).then(() => false),
    ]);
    late.abort();
    this.emit({ type: 'stopped', clean });
    return clean;
  }

  async #close(graceMs: number): Promise<boolean> {
    await Promise.all([this.#carrier.close(graceMs), Promise.allSettled(this.#loops)]);
    const failures = await this.#closers.closeAll();
    for (const failure of failures) this.#telemetry.logger.fault('closing', failure);
    return failures.length === 0;
  }
}
