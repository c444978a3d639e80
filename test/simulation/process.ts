import { backfill } from '../../src/daemon/joints/backfill.ts';
import { attemptLeaseMs, deliverBatch } from '../../src/daemon/joints/deliver.ts';
import { dispatch } from '../../src/daemon/joints/dispatch.ts';
import { claimLimits } from '../../src/daemon/joints/open-carrier.ts';
import { pollLoop } from '../../src/daemon/joints/poll-loop.ts';
import { ReportedRejections } from '../../src/daemon/joints/reported-rejections.ts';
import { Wake } from '../../src/daemon/joints/wake.ts';
import { watchWorkers } from '../../src/daemon/joints/watch-workers.ts';
import { tidyLedger } from '../../src/daemon/upkeep/maintain-ledger-file.ts';
import { watchClock } from '../../src/daemon/watching/watch-clock.ts';
import type { Carrier } from '../../src/delivery/carrier.ts';
import { InProcessCarrier } from '../../src/delivery/in-process-carrier.ts';
import type { LeadEvent } from '../../src/leads/delivery.ts';
import type { Ledger } from '../../src/ledger/contract/ledger.ts';
import { CompiledMappings } from '../../src/mapping/compiled-mappings.ts';
import type { OpenSink } from '../../src/operations/opening/open-sinks.ts';
import { reclaimLeases } from '../../src/operations/opening/reclaim-leases.ts';
import { Secret } from '../../src/platform/options/secret.ts';
import type { Clock } from '../../src/platform/time/clock.ts';
import type { Sink } from '../../src/sinks/sink.ts';
import type { Emit } from '../../src/telemetry/events.ts';
import { sinkChoice } from '../support/scene/sink-choice.ts';
import { Versions } from './judging/versions.ts';
import { watched } from './judging/watched-ledger.ts';
import type { Witness } from './judging/witness.ts';
import type { Life } from './life.ts';
import { BUDGET_MS } from './outside/destination.ts';
import { RedisCarrier, type SimulatedRedis } from './outside/redis.ts';
import type { Shown, SimulatedService } from './outside/service.ts';
import type { Store } from './outside/store.ts';
import { clockOf } from './outside/time.ts';

/** What a process does. */
export interface Role {
  /** Whether it polls and dispatches. */
  readonly runs: boolean;
  /** Whether it makes attempts. */
  readonly delivers: boolean;
}

/** A sink as configured. */
export interface SinkSetup {
  readonly name: string;
  readonly type: 'webhook' | 'csv';
  readonly events: readonly LeadEvent[];
  readonly max: number;
  readonly waitMs: number;
  readonly concurrency: number;
  readonly backfill: boolean;
}

export interface ProcessParts {
  readonly life: Life;
  readonly role: Role;
  readonly sinks: readonly SinkSetup[];
  readonly pollEveryMs: number;
  readonly store: Store;
  readonly service: SimulatedService;
  /** Undefined if batches are attempted in this process. */
  readonly redis: SimulatedRedis | undefined;
  readonly openSink: (sink: SinkSetup, life: Life) => Sink;
  readonly clock: Clock;
  readonly random: () => number;
  /** A name that no process has had. */
  readonly holder: string;
  readonly witness: Witness;
  readonly emit: Emit;
  /** Called for each call of the ledger. */
  readonly onCall: (method: string) => void;
}

/** How often a process checks whether others wrote to the ledger, in ms; the daemon checks twenty times as often. */
const LOOK_ELSEWHERE_MS = 2_000;
/** A stand-in for the URL of the simulated Redis. */
const REDIS = { kind: 'server', url: new Secret('redis://simulated'), tls: undefined } as const;
const WATCH_PROCESSES_MS = 2_000;
const AFTER_FAULT_MS = 1_000;

/** A leadsync composed of the same parts as the daemon; everything around it is simulated. */
export class SimulatedProcess {
  readonly life: Life;
  readonly role: Role;
  readonly #parts: ProcessParts;
  readonly #clock: Clock;
  readonly #emit: Emit;
  readonly #stopping = new AbortController();
  readonly #loops: Promise<void>[] = [];
  readonly #wakes = new Map<string, Wake>();
  readonly #open = new Map<string, OpenSink>();
  readonly #ledger: Ledger;
  readonly #drop: () => void;
  readonly #carrier: Carrier;
  #shown: Shown = new Map();

  /** Opens everything and starts nothing. @throws LedgerError */
  constructor(parts: ProcessParts) {
    this.#parts = parts;
    this.life = parts.life;
    this.role = parts.role;
    this.#clock = clockOf(parts.life, parts.clock);
    this.#emit = (event) => this.life.isDead || parts.emit(event);
    for (const sink of parts.sinks) this.#wakes.set(sink.name, new Wake(this.#clock));
    const { ledger, drop } = parts.store.open(this.life, parts.holder);
    this.#drop = drop;
    this.#ledger = watched(ledger, {
      life: this.life,
      witness: parts.witness,
      onCall: parts.onCall,
      shown: () => this.#shown,
      versions: new Versions(parts.store.observer),
    });
    this.#carrier = this.#openCarrier();
  }

  /** Returns the number of configured sinks. */
  get sinks(): number {
    return this.#parts.sinks.length;
  }

  /** Starts as the daemon does. */
  async start(): Promise<void> {
    const parts = { ledger: this.#ledger, carrier: this.#carrier, clock: this.#clock, emit: this.#emit };
    for (const { name } of this.#parts.sinks) this.#loop((signal) => watchWorkers(name, parts, signal));
    if (!this.role.runs) return;
    const { sinks, store } = this.#parts;
    await this.#ledger.declareSinks(sinks);
    await reclaimLeases(this.#ledger, store.processes);
    this.#startDispatch();
    this.#loop((signal) => pollLoop(this.#pollParts(), signal));
  }

  /** Makes its workers take no jobs although they live, or work again. */
  setSilent(isSilent: boolean): void {
    if (this.#carrier instanceof RedisCarrier) this.#carrier.setSilent(isSilent);
  }

  /** Dies as by a signal that cannot be caught. */
  die(): void {
    const { store, holder } = this.#parts;
    if (this.life.isDead) return;
    this.#end();
    store.processes.kill(holder);
  }

  freeze(): void {
    this.life.freeze();
  }

  thaw(): void {
    this.life.thaw();
    if (this.#carrier instanceof RedisCarrier) this.#carrier.pump();
  }

  /** Stops in order. */
  async stop(graceMs: number): Promise<void> {
    this.#stopping.abort();
    await Promise.all([this.#carrier.close(graceMs), Promise.allSettled(this.#loops)]);
    if (this.life.isDead) return;
    await this.#ledger.close();
    this.#end();
  }

  #end(): void {
    this.life.die();
    this.#drop();
    this.#stopping.abort();
  }

  #openCarrier(): Carrier {
    const { redis, sinks, role, openSink } = this.#parts;
    for (const sink of sinks)
      this.#open.set(sink.name, { sink: openSink(sink, this.life), budgetMs: BUDGET_MS });
    const attempt = deliverBatch({
      ledger: this.#ledger,
      sinks: sinkChoice(this.#open),
      mappings: new CompiledMappings(() => undefined),
      clock: this.#clock,
      emit: this.#emit,
      onSettled: (sink) => this.#wakes.get(sink)?.notify(),
    });
    if (!redis) return new InProcessCarrier(attempt, this.#clock);
    const works = role.delivers ? attempt : undefined;
    const { life } = this;
    const carrier = new RedisCarrier({
      redis,
      life,
      attempt: works,
      clock: this.#clock,
      onReady: this.#wakeAll,
    });
    void carrier.serve(sinks);
    return carrier;
  }

  #startDispatch(): void {
    const { redis, sinks } = this.#parts;
    const config = { queue: { redis: redis && REDIS } };
    const [ledger, carrier, clock, emit] = [this.#ledger, this.#carrier, this.#clock, this.#emit];
    for (const sink of sinks) {
      const wake = this.#wakes.get(sink.name) as Wake;
      const { name, max, waitMs } = sink;
      const leaseMs = attemptLeaseMs(this.#open.get(name) as OpenSink);
      const request = { max, waitMs, ...claimLimits(config, { ...sink, rate: undefined }, leaseMs) };
      this.#loop((signal) => dispatch(name, () => request, { ledger, carrier, clock, emit, wake }, signal));
      this.#loop((signal) => backfill(name, { ledger, emit, wake }, signal));
    }
    this.#loop((signal) => watchClock(ledger, clock, emit, signal));
    this.#loop((signal) => tidyLedger(ledger, clock, emit, signal));
    this.#loop((signal) => this.#watchExternalWrites(signal));
    this.#loop((signal) => this.#watchProcesses(signal));
  }

  #pollParts() {
    const { service, random, pollEveryMs } = this.#parts;
    const source = service.sourceOf(this.life, (shown) => {
      this.#shown = shown;
    });
    return {
      source,
      ledger: this.#ledger,
      clock: this.#clock,
      emit: this.#emit,
      random,
      onOwed: this.#wakeAll,
      rejections: new ReportedRejections(),
      schedule: { everyMs: pollEveryMs },
    };
  }

  readonly #wakeAll = () => {
    for (const wake of this.#wakes.values()) wake.notify();
  };

  async #watchExternalWrites(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      if (await this.#ledger.changedElsewhere()) this.#wakeAll();
      await this.#clock.sleep(LOOK_ELSEWHERE_MS, signal);
    }
  }

  async #watchProcesses(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#clock.sleep(WATCH_PROCESSES_MS, signal);
      const freed = await reclaimLeases(this.#ledger, this.#parts.store.processes);
      if (freed + (await this.#ledger.finishReplays()) > 0) this.#wakeAll();
    }
  }

  /** Runs a loop. An error in it ends neither this loop nor the others. */
  #loop(run: (signal: AbortSignal) => Promise<void>): void {
    const { signal } = this.#stopping;
    const keepGoing = async () => {
      for (;;) {
        try {
          return await run(signal);
        } catch {
          // The daemon logs the error. It must not lose anything because of it.
          if (signal.aborted) return;
          await this.#clock.sleep(AFTER_FAULT_MS, signal);
        }
      }
    };
    this.#loops.push(keepGoing());
  }
}
