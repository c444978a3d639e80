import { judgeBy } from '../../src/delivery/judge.ts';
import { CsvSink } from '../../src/sinks/csv/csv.ts';
import { FolderDrop } from '../../src/sinks/drop/folder-drop.ts';
import type { Sink } from '../../src/sinks/sink.ts';
import type { Event } from '../../src/telemetry/events.ts';
import type { HeldClock } from '../support/time/held-clock.ts';
import { Chance } from './chance.ts';
import { type Command, command } from './command.ts';
import { Witness } from './judging/witness.ts';
import { Life } from './life.ts';
import { Destination } from './outside/destination.ts';
import { SimulatedDisk } from './outside/disk.ts';
import { SimulatedRedis } from './outside/redis.ts';
import { SimulatedService } from './outside/service.ts';
import { Store } from './outside/store.ts';
import { simulatedClock } from './outside/time.ts';
import type { Role, SinkSetup } from './process.ts';
import { Processes } from './processes.ts';
import type { Scenario } from './scenario.ts';

/** The waits of the retry schedule, in ms: short, so that a run comes to its end. */
const SCHEDULE_MS = [5_000, 30_000, 120_000];
const NOBODY = new AbortController().signal;
/** The file sink's own deadline uses the real clock, which must have no effect here. */
const NEVER_MS = 3_600_000;
/** Time after which a failed command is run again, in ms. */
const COMMAND_AGAIN_MS = 1_000;

const ROLES: Readonly<Record<Scenario['carrier'], readonly Role[]>> = {
  'in-process': [{ runs: true, delivers: true }],
  redis: [{ runs: true, delivers: true }],
  workers: [
    { runs: true, delivers: false },
    { runs: false, delivers: true },
    { runs: false, delivers: true },
  ],
};

/** Everything in a run: the processes and what surrounds them. */
export class World {
  readonly clock: HeldClock = simulatedClock();
  readonly witness: Witness;
  readonly service: SimulatedService;
  readonly disk: SimulatedDisk;
  readonly store: Store;
  readonly destinations: ReadonlyMap<string, Destination>;
  readonly redis: SimulatedRedis | undefined;
  readonly processes: Processes;
  readonly scenario: Scenario;
  readonly narrate: (line: string) => void;
  readonly #chance: Chance;
  readonly #retired = new Set<string>();
  readonly #pollsAnew = new Set<number>();
  #isHealed = false;
  /** Whether a poll that started after everything was healed has ended. */
  hasReadAnew = false;
  /** The number of calls of the ledger, to detect a spin. */
  calls = 0;

  constructor(scenario: Scenario, tell: (line: string) => void) {
    const { clock } = this;
    const chance = (stream: string) => new Chance(scenario.chance, stream);
    const { random } = chance('ledger');
    const judge = judgeBy(() => ({ scheduleMs: SCHEDULE_MS, jitter: 0.2 }), random);
    this.scenario = scenario;
    this.narrate = (line) => tell(`${(clock.monotonicMs() / 1000).toFixed(3)} s  ${line}`);
    this.#chance = chance('world');
    this.witness = new Witness(() => clock.monotonicMs());
    this.service = new SimulatedService(clock, chance('service'), scenario.leads);
    this.disk = new SimulatedDisk(chance('disk'), () => clock.now());
    this.store = new Store({ clock, random, judge });
    this.redis = scenario.carrier === 'in-process' ? undefined : new SimulatedRedis(clock, chance('redis'));
    this.destinations = new Map(
      scenario.sinks.map(({ name }) => [name, new Destination(clock, chance(name), this.witness)]),
    );
    this.processes = this.#openProcesses(ROLES[scenario.carrier]);
  }

  /** Returns a sink by a number that may be larger than the number of sinks. */
  sink(index: number): SinkSetup {
    return this.scenario.sinks[index % this.scenario.sinks.length] as SinkSetup;
  }

  destination(index: number): Destination {
    return this.destinations.get(this.sink(index).name) as Destination;
  }

  /** Removes a sink from the configuration for a time. */
  retire(index: number, forMs: number): void {
    if (this.#sinks.length <= 1) return;
    const { name } = this.sink(index);
    this.#retired.add(name);
    this.processes.restartAll(1_000);
    this.until(forMs, () => {
      this.#retired.delete(name);
      this.processes.restartAll(1_000);
    });
  }

  setClock(byMs: number): void {
    // Setting the clock ahead ends no lease of a running attempt, which counts elapsed time.
    if (byMs < 0) this.witness.excuseOpen('the clock was set back');
    this.witness.clockJumped = true;
    this.clock.setBack(-byMs);
  }

  /** Runs a command beside the daemon. Its process may die in the middle. */
  command(given: Command): void {
    const life = new Life('a command', () => life.die());
    if (!this.#isHealed && this.#chance.oneIn(4))
      life.arm({ kind: 'kill', place: 'write', after: this.#chance.below(8) });
    const { name } = this.sink(given.sink);
    if (given.do === 'resume') this.witness.resumed(name);
    if (given.do === 'retry') this.witness.retried(name);
    command(given, name, this.store, life).then(
      (done) => {
        if (given.do === 'pause') this.witness.paused(name);
        this.narrate(done);
      },
      (error: unknown) => {
        this.narrate(`the command failed: ${String(error)}`);
        if (this.#isHealed) void this.#sleep(COMMAND_AGAIN_MS).then(() => this.command(given));
      },
    );
  }

  /** Calls `act` after this time, unless everything was healed before. */
  until(forMs: number, act: () => void): void {
    void this.#sleep(forMs).then(() => this.#isHealed || act());
  }

  /** Ends every fault for good, except a destination's refusals of single leads. */
  heal(): void {
    this.narrate('healed');
    this.#isHealed = true;
    this.service.manner = 'fine';
    this.service.agree();
    this.disk.fault = undefined;
    this.store.heal();
    for (const destination of this.destinations.values()) destination.heal();
    this.redis?.heal();
    this.#retired.clear();
    this.processes.heal();
  }

  /** Resumes a paused sink, as an operator does in the end. */
  resume(name: string): void {
    this.command({ do: 'resume', sink: this.scenario.sinks.findIndex((sink) => sink.name === name) });
  }

  /** Ends all processes and removes the store. */
  async close(): Promise<void> {
    this.#isHealed = true;
    this.processes.close();
    this.store.remove();
  }

  /** Returns the sinks that are configured now. */
  get #sinks(): readonly SinkSetup[] {
    return this.scenario.sinks.filter(({ name }) => !this.#retired.has(name));
  }

  #openProcesses(roles: readonly Role[]): Processes {
    const { clock, witness, redis, store, service, narrate } = this;
    const parts = () => ({
      sinks: this.#sinks,
      pollEveryMs: this.scenario.pollEveryMs,
      store,
      service,
      openSink: (sink: SinkSetup, life: Life) => this.#openSink(sink, life),
      onCall: () => {
        this.calls += 1;
      },
    });
    const onEvent = (life: Life, event: Event) => this.#hear(life, event);
    return new Processes(roles, { clock, chance: this.#chance, witness, redis, parts, onEvent, narrate });
  }

  #hear(life: Life, event: Event): void {
    if (event.type === 'poll-started' && this.#isHealed) this.#pollsAnew.add(event.poll);
    if (event.type === 'ledger-failed' && event.hint.includes('fault in leadsync'))
      this.witness.blame(`${event.operation}: ${event.reason}`);
    if (event.type === 'poll-finished' && this.#pollsAnew.has(event.poll)) this.hasReadAnew = true;
    this.narrate(`${life.name}: ${JSON.stringify(event)}`);
  }

  #openSink(sink: SinkSetup, life: Life): Sink {
    const { name } = sink;
    if (sink.type === 'webhook') return (this.destinations.get(name) as Destination).sinkOf(life);
    const parts = { clock: this.clock, timeoutMs: NEVER_MS };
    const drop = new FolderDrop(`/drop/${name}`, parts, this.disk.filesOf(life));
    const csv = new CsvSink({ formulas: 'keep', bom: false }, drop);
    return {
      check: (signal) => csv.check(signal),
      test: (batch, signal) => csv.test(batch, signal),
      preview: (batch) => csv.preview(batch),
      close: () => csv.close(),
      deliver: async (batch, signal, under) => {
        const outcomes = await csv.deliver(batch, signal, under);
        for (const delivery of batch.deliveries) this.witness.arrived(batch, delivery);
        return outcomes;
      },
    };
  }

  #sleep(ms: number): Promise<void> {
    return this.clock.sleep(ms, NOBODY);
  }
}
