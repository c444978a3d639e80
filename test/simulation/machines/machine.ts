import type { Duty } from '../../../src/daemon/duties/duties.ts';
import { LeasedDuties } from '../../../src/daemon/duties/leased-duties.ts';
import type { DutyWork, HeldDuty, Machines } from '../../../src/ledger/contract/machines.ts';
import type { Clock } from '../../../src/platform/time/clock.ts';
import { Stopwatch } from '../../../src/platform/time/stopwatch.ts';
import type { HeldClock } from '../../support/time/held-clock.ts';
import { Life } from '../life.ts';
import { clockOf } from '../outside/time.ts';
import { type DutyTable, machinesOver, type Network } from './duty-table.ts';

/** What a simulated process of a machine finds when it starts. */
interface MachineParts {
  readonly table: DutyTable;
  readonly clock: HeldClock;
  readonly network: Network;
  readonly leaseMs: number;
  readonly duties: readonly Duty[];
  /** How fast its clock goes: 1 is the speed of the others. */
  readonly speed: number;
  /** Called when the process comes to a trap, where it freezes. */
  readonly onTrap: (machine: Machine) => void;
  /** Called when the process sends a batch, under its lease. */
  readonly onSent: (lease: number, by: Machine) => void;
  /** Called when a process has reclaimed leases of another one. */
  readonly onReclaimed: (leases: number) => void;
  /** Called when a poll of the process has recorded something. */
  readonly onRecorded: (duty: string, poll: number, by: Machine) => void;
}

const RECORD_EVERY_MS = 700;
/** How often a process sends a part of a batch. */
const SENDS = 6;

/**
 * A process of a machine: its duties, a poll for each source that it holds, which records until the duty is lost, and attempts, one after another. While
 * it holds the upkeep, it reclaims the leases of dead processes.
 */
export class Machine {
  readonly name: string;
  readonly life: Life;
  readonly #held = new Map<string, HeldDuty>();
  readonly #stopping = new AbortController();
  readonly #clock: Clock;
  readonly #parts: MachineParts;
  readonly #leased: LeasedDuties;
  readonly #machines: Machines;

  constructor(name: string, parts: MachineParts) {
    this.name = name;
    this.#parts = parts;
    this.life = new Life(name, () => parts.onTrap(this));
    const { table, clock, network, leaseMs, duties, speed } = parts;
    this.#clock = clockOf(this.life, atSpeed(clock, speed));
    this.#machines = machinesOver(table, name, { clock, network, life: this.life });
    const leased = new LeasedDuties({
      machines: this.#machines,
      clock: this.#clock,
      own: () => ({ machine: name, role: 'run', sinks: [], folders: [] }),
      leaseMs,
      onFailure: () => undefined,
    });
    this.#leased = leased;
    const { signal } = this.#stopping;
    for (const duty of duties) {
      const work: DutyWork = (held, lost) => this.#work(duty, held, AbortSignal.any([lost, signal]));
      void leased.whileHeld(duty, work, signal);
    }
    void leased.run(signal);
    void this.#deliver(signal);
  }

  /** Whether this process believes that no other one can hold the duty. */
  trusts(duty: string): boolean {
    return !this.life.isDead && this.#held.get(duty)?.isTrusted() === true;
  }

  /** Stops it in order. */
  stop(): void {
    this.#stopping.abort();
  }

  async #work(duty: string, held: HeldDuty, signal: AbortSignal): Promise<void> {
    this.#held.set(duty, held);
    await (duty === 'upkeep' ? this.#reclaim(held, signal) : this.#poll(duty, held, signal));
  }

  /** Reclaims the leases of processes that are dead, as far as this one knows. */
  async #reclaim(held: HeldDuty, signal: AbortSignal): Promise<void> {
    const { table, onReclaimed } = this.#parts;
    const { others } = this.#leased;
    while (!signal.aborted && !held.retiring.aborted) {
      for (const { holder, lastBeat } of others.all) {
        if (!others.isDead(holder)) continue;
        const removing = this.#machines.remove(holder, lastBeat);
        await Promise.race([removing, this.#clock.sleep(RECORD_EVERY_MS)]); // the answer may be lost
        onReclaimed(await this.life.act(async () => table.reclaim(holder)));
      }
      await this.#clock.sleep(RECORD_EVERY_MS, signal);
    }
  }

  /** Makes attempts, each of which sends several parts while the others can see that this process is alive. */
  async #deliver(signal: AbortSignal): Promise<void> {
    const { table, onSent } = this.#parts;
    const { life } = this.#leased;
    while (!signal.aborted) {
      await this.#clock.sleep(RECORD_EVERY_MS, signal);
      if (!life.isAlive()) continue;
      const since = new Stopwatch(this.#clock);
      const lease = await this.life.act(async () => table.claim(this.name), 'attempt');
      for (let sends = 0; sends < SENDS && life.isAliveSince(since); sends += 1) {
        onSent(lease, this);
        await this.#clock.sleep(RECORD_EVERY_MS);
      }
      await this.life.act(async () => table.settle(lease));
    }
  }

  async #poll(duty: string, held: HeldDuty, signal: AbortSignal): Promise<void> {
    const { table, onRecorded } = this.#parts;
    const poll = await this.life.act(async () => table.startPoll(duty, String(held.token)));
    while (poll !== undefined && !signal.aborted && !held.retiring.aborted) {
      await this.life.act(async () => {
        if (table.record(duty, poll)) onRecorded(duty, poll, this);
      });
      await this.#clock.sleep(RECORD_EVERY_MS, signal);
    }
    // A poll that was fenced waits until the process notices that its duty is lost.
    while (!signal.aborted && !held.retiring.aborted) await this.#clock.sleep(RECORD_EVERY_MS, signal);
  }
}

/** Returns a clock that goes faster or slower than another one. */
function atSpeed(clock: HeldClock, speed: number): Clock {
  return {
    now: () => new Date(clock.monotonicMs() * speed),
    monotonicMs: () => clock.monotonicMs() * speed,
    sleep: (ms, signal) => clock.sleep(ms / speed, signal),
  };
}
