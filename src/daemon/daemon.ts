import { startAdmin } from '../admin/server.ts';
import type { SinkConfig } from '../config/config.ts';
import type { LedgerStatus } from '../ledger/ledger.ts';
import { Closers } from '../platform/closers.ts';
import { version } from '../platform/version.ts';
import type { Source } from '../source/source.ts';
import { backfill } from './backfill.ts';
import { pace } from './carrier-choice.ts';
import { compose, type DaemonOptions, type Parts } from './compose.ts';
import { attemptLeaseMs } from './deliver.ts';
import { dispatch } from './dispatch.ts';
import { freeTheDead } from './free-the-dead.ts';
import { Loops } from './loops.ts';
import { type PollFailure, type PollParts, poll } from './poll.ts';
import { pollLoop } from './poll-loop.ts';
import { tidyLedger } from './tidy-ledger.ts';
import { watchClock } from './watch-clock.ts';
import { watchWorkers } from './watch-workers.ts';

/** How often it is looked whether another process wrote to the ledger, in ms. */
const LOOK_ELSEWHERE_MS = 100;
/** How often it is looked whether a process died in the middle of something, in ms. */
const WATCH_PROCESSES_MS = 2_000;
/** How long `sync` waits for a carrier that is away, in ms. */
const CARRIER_PATIENCE_MS = 10_000;
/** What closing may take beyond the grace given to attempts, in ms. */
const CLOSING_MS = 3_000;

/** A leadsync that runs: started part by part, and stopped in the opposite order. */
export class Daemon {
  readonly #parts: Parts;
  readonly #closers: Closers;
  readonly #loops: Loops;
  readonly #backfills: Promise<void>[] = [];

  private constructor(parts: Parts, closers: Closers) {
    this.#parts = parts;
    this.#closers = closers;
    this.#loops = new Loops(parts.clock, parts.telemetry);
  }

  /** Starts a leadsync. When starting fails, what was opened is closed again. @throws DataDirHeld, DataDirUnusable, LedgerError, AdminAddressError */
  static async start(options: DaemonOptions): Promise<Daemon> {
    const closers = new Closers();
    try {
      const daemon = new Daemon(await compose(options, closers), closers);
      await daemon.#start(options.admin);
      return daemon;
    } catch (error) {
      await closers.closeAll();
      throw error;
    }
  }

  async #start(listen: DaemonOptions['admin']): Promise<void> {
    const { config, role, sinks, sources, ledger, carrier } = this.#parts;
    if (this.#parts.delivers) this.#checkSinks();
    if (listen) await this.#openAdmin(listen);
    this.#emit({
      type: 'started',
      version,
      carrier: carrier.kind,
      sources: sources.length,
      sinks: sinks.length,
      dataDir: config.dataDir,
    });
    if (role.kind !== 'worker') {
      await ledger.declareSinks(sinks);
      await freeTheDead(ledger, config.dataDir);
      for (const sink of sinks) this.#startSink(sink);
      this.#startWatching();
    }
    for (const { name } of sinks)
      this.#loops.start(`watching the worker of ${name}`, (signal) =>
        watchWorkers(name, this.#jointParts(), signal),
      );
    if (role.kind === 'run') for (const source of sources) this.#startPolling(source);
  }

  /** Says at once what would otherwise show with the first lead. Deliveries do not wait for it. */
  #checkSinks(): void {
    const { signal } = this.#loops;
    for (const [name, { sink }] of this.#parts.openSinks) {
      sink.check(signal).catch((error: { message: string; hint?: string }) => {
        if (signal.aborted) return;
        this.#emit({ type: 'check-failed', sink: name, reason: error.message, hint: error.hint ?? '' });
      });
    }
  }

  async #openAdmin({ host, port }: { host: string; port: number }): Promise<void> {
    const { registry } = this.#parts.telemetry;
    const admin = await startAdmin({ host, port, ready: () => this.#unready(), registry });
    this.#closers.push(() => admin.close());
  }

  async #unready(): Promise<readonly string[]> {
    if (this.#loops.signal.aborted) return ['leadsync is stopping'];
    const { ledger, carrier } = this.#parts;
    await ledger.listingMark(''); // rejects when the ledger cannot be read
    const failing = ledger.failing();
    return [failing && `${failing.message} ${failing.hint}`, carrier.unready()].filter(
      (reason) => reason !== undefined,
    );
  }

  #startSink(sink: SinkConfig): void {
    const { config, openSinks, role, wakes } = this.#parts;
    const { name } = sink;
    const open = openSinks.get(name);
    if (!open) throw new Error(`sink ${name} is not open`);
    const parts = { ...this.#jointParts(), wake: wakes.of(name) };
    const waitMs = role.kind === 'sync' ? 0 : sink.batch.waitMs;
    const request = { sink: name, max: sink.batch.max, waitMs, ...pace(config, sink, attemptLeaseMs(open)) };
    this.#loops.start(`dispatching to ${name}`, (signal) => dispatch(request, parts, signal));
    const done = this.#loops.start(`backfilling ${name}`, (signal) => backfill(name, parts, signal));
    this.#backfills.push(done);
  }

  #startWatching(): void {
    const { ledger, clock } = this.#parts;
    this.#loops.start('watching the clock', (signal) => watchClock(ledger, clock, this.#emit, signal));
    this.#loops.start('watching the ledger', (signal) => this.#lookElsewhere(signal));
    this.#loops.start('tidying the ledger', (signal) => tidyLedger(ledger, clock, this.#emit, signal));
    this.#loops.start('watching the other processes', (signal) => this.#watchProcesses(signal));
  }

  #startPolling(source: Source): void {
    const { config, random } = this.#parts;
    const schedule = config.sources.find(({ name }) => name === source.name)?.poll;
    if (!schedule) return;
    const parts = { ...this.#pollParts(source), schedule, random };
    this.#loops.start(`polling ${source.name}`, (signal) => pollLoop(parts, signal));
  }

  /** What joints of ledger and carrier share. */
  #jointParts() {
    const { ledger, carrier, clock } = this.#parts;
    return { ledger, carrier, clock, emit: this.#emit };
  }

  #pollParts(source: Source): PollParts {
    const { ledger, clock, wakes } = this.#parts;
    return { source, ledger, clock, emit: this.#emit, onOwed: () => wakes.notifyAll() };
  }

  get #emit() {
    return this.#parts.telemetry.emit;
  }

  /** Notices what workers settled and what commands changed. */
  async #lookElsewhere(signal: AbortSignal): Promise<void> {
    const { ledger, clock, wakes } = this.#parts;
    while (!signal.aborted) {
      if (ledger.changedElsewhere()) wakes.notifyAll();
      await clock.sleep(LOOK_ELSEWHERE_MS, signal);
    }
  }

  /** Goes on with what processes held or had begun that were killed. */
  async #watchProcesses(signal: AbortSignal): Promise<void> {
    const { config, ledger, clock, wakes } = this.#parts;
    while (!signal.aborted) {
      await clock.sleep(WATCH_PROCESSES_MS, signal);
      const freed = await freeTheDead(ledger, config.dataDir);
      if (freed + (await ledger.finishReplays()) > 0) wakes.notifyAll();
    }
  }

  /** Polls every source once, at the same time. Gives the failures. */
  async pollOnce(signal: AbortSignal): Promise<readonly PollFailure[]> {
    const polls = this.#parts.sources.map((source) => poll(this.#pollParts(source), signal));
    return (await Promise.all(polls)).filter((failure) => failure !== undefined);
  }

  /**
   * Resolves when everything is owed that is to be, nothing is on its way and nothing more is due now; when the carrier
   * stays away, so that none of it can travel; or when the signal aborts.
   */
  async drained(signal: AbortSignal): Promise<void> {
    const { carrier, clock } = this.#parts;
    let owed = false;
    void Promise.all(this.#backfills).then(() => {
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
    const { sinks, ledger } = this.#parts;
    const activities = await Promise.all(sinks.map(({ name }) => ledger.activity(name)));
    return activities.some(({ onTheirWay, due }) => onTheirWay > 0 || due);
  }

  /** How many deliveries wait for the sinks that there are. */
  async pending(): Promise<number> {
    const { ledger, sinks } = this.#parts;
    const names = new Set(sinks.map(({ name }) => name));
    return (await ledger.backlog())
      .filter(({ sink }) => names.has(sink))
      .reduce((total, { pending }) => total + pending, 0);
  }

  status(): Promise<LedgerStatus> {
    return this.#parts.ledger.status();
  }

  /**
   * Stops in order: no new polls and claims, attempts under way may end within `graceMs`, then everything is closed.
   * Gives false when something had to be cut off or could not be closed; nothing is lost either way.
   */
  async stop(reason: string, graceMs: number): Promise<boolean> {
    this.#emit({ type: 'stopping', signal: reason, graceMs });
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
    await Promise.all([this.#parts.carrier.close(graceMs), this.#loops.ended()]);
    const failures = await this.#closers.closeAll();
    for (const failure of failures) this.#parts.telemetry.logger.fault('closing', failure);
    return failures.length === 0;
  }
}
