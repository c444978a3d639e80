import type { Random } from '../../src/platform/time/clock.ts';
import type { Event } from '../../src/telemetry/events.ts';
import type { HeldClock } from '../support/time/held-clock.ts';
import type { Chance } from './chance.ts';
import type { Witness } from './judging/witness.ts';
import { Life, type Trap } from './life.ts';
import type { SimulatedRedis } from './outside/redis.ts';
import { type ProcessParts, type Role, SimulatedProcess } from './process.ts';

const NOBODY = new AbortController().signal;
/** Time after which a process that could not start is started again, in ms, as by a supervisor. */
const START_AGAIN_MS = 5_000;

/** A place in the run: when its process ends, another takes its place. */
interface Place {
  readonly role: Role;
  process: SimulatedProcess | undefined;
}

interface Around {
  readonly clock: HeldClock;
  readonly chance: Chance;
  readonly witness: Witness;
  readonly redis: SimulatedRedis | undefined;
  /** Returns what a process finds when it starts. */
  readonly parts: () => Omit<
    ProcessParts,
    'life' | 'role' | 'holder' | 'random' | 'clock' | 'witness' | 'redis' | 'emit'
  >;
  readonly onEvent: (life: Life, event: Event) => void;
  readonly narrate: (line: string) => void;
}

/** The processes of a run, which start, end, freeze and resume. */
export class Processes {
  readonly #around: Around;
  readonly #places: readonly Place[];
  readonly #random: Random;
  #starts = 0;
  #isOver = false;
  /** The number of processes that ended without being asked. */
  deaths = 0;

  constructor(roles: readonly Role[], around: Around) {
    this.#around = around;
    this.#random = around.chance.random;
    this.#places = roles.map((one) => ({ role: one, process: undefined }));
  }

  startAll(): void {
    for (const place of this.#places) this.#start(place);
  }

  /** Arms a trap in a process. */
  arm(index: number, trap: Trap): void {
    this.#place(index).process?.life.arm(trap);
  }

  kill(index: number, forMs: number): void {
    this.#die(this.#place(index), forMs);
  }

  killAll(forMs: number): void {
    for (const place of this.#places) this.#die(place, forMs);
  }

  freeze(index: number, forMs: number): void {
    this.#freeze(this.#place(index), forMs);
  }

  restart(index: number, graceMs: number): void {
    void this.#restart(this.#place(index), graceMs);
  }

  restartAll(graceMs: number): void {
    for (const place of this.#places) void this.#restart(place, graceMs);
  }

  setSilent(isSilent: boolean): void {
    for (const { process } of this.#places) process?.setSilent(isSilent);
  }

  /**
   * Starts and resumes all processes with the current configuration, and disarms their traps. Silent workers stay silent, because a
   * watchdog replaces them.
   */
  heal(): void {
    for (const { process } of this.#places) {
      process?.life.disarm();
      if (process) this.#thaw(process);
    }
    this.startAll();
    const { sinks } = this.#around.parts();
    for (const place of this.#places) if (place.process?.sinks !== sinks.length) void this.#restart(place, 0);
  }

  close(): void {
    this.#isOver = true;
    for (const { process } of this.#places) process?.die();
  }

  #start(place: Place): void {
    if (place.process || this.#isOver) return;
    const { clock, chance, witness, redis, parts, onEvent, narrate } = this.#around;
    this.#starts += 1;
    const life = new Life(`process ${this.#starts}`, (kind) => this.#sprung(place, kind));
    const emit = (event: Event) => onEvent(life, event);
    const own = { life, role: place.role, holder: chance.hex(), random: this.#random };
    try {
      place.process = new SimulatedProcess({ ...parts(), ...own, clock, witness, redis, emit });
    } catch (error) {
      narrate(`${life.name} could not be started: ${String(error)}`);
      this.#later(START_AGAIN_MS, () => this.#start(place));
      return;
    }
    narrate(`${life.name} started`);
    const { process } = place;
    process.start().catch(() => {
      // A daemon that cannot start exits and is started again.
      if (place.process === process) this.#die(place, START_AGAIN_MS);
    });
  }

  #sprung(place: Place, kind: Trap['kind']): void {
    if (kind === 'kill') this.#die(place, this.#around.chance.below(20_000));
    else this.#freeze(place, this.#around.chance.below(120_000));
  }

  #die(place: Place, forMs: number): void {
    const { process } = place;
    if (!process || process.life.isDead) return;
    const { witness, redis, narrate } = this.#around;
    narrate(`${process.life.name} is dead`);
    this.deaths += 1;
    place.process = undefined;
    witness.excuseOpen('its process died', process.life);
    process.die();
    void redis?.stall(process.life);
    this.#later(forMs, () => this.#start(place));
  }

  #freeze(place: Place, forMs: number): void {
    const { process } = place;
    if (!process?.life.isRunning) return;
    const { witness, redis, narrate } = this.#around;
    narrate(`${process.life.name} is frozen`);
    witness.excuseOpen('its process stood still', process.life);
    process.freeze();
    void redis?.stall(process.life);
    this.#later(forMs, () => this.#thaw(process));
  }

  #thaw(process: SimulatedProcess): void {
    if (process.life.isRunning || process.life.isDead) return;
    this.#around.narrate(`${process.life.name} goes on`);
    // Including what began while it was about to freeze.
    this.#around.witness.excuseOpen('its process stood still', process.life);
    process.thaw();
  }

  async #restart(place: Place, graceMs: number): Promise<void> {
    const { process } = place;
    if (process?.life.isRunning) {
      this.#around.narrate(`${process.life.name} stops`);
      await process.stop(graceMs);
      this.#around.witness.excuseOpen('its process was stopped', process.life);
      if (place.process !== process) return; // it died while it was stopping
      place.process = undefined;
    }
    this.#start(place);
  }

  #later(ms: number, act: () => void): void {
    void this.#around.clock.sleep(ms, NOBODY).then(act);
  }

  #place(index: number): Place {
    return this.#places[index % this.#places.length] as Place;
  }
}
