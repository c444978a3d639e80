import { LeasedDuties } from '../../../src/daemon/joints/leased-duties.ts';
import type { HeldDuty } from '../../../src/ledger/contract/machines.ts';
import type { Clock } from '../../../src/platform/time/clock.ts';
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
  readonly duties: readonly string[];
  /** How fast its clock goes: 1 is the speed of the others. */
  readonly speed: number;
  /** Called when the process comes to a trap, where it freezes. */
  readonly onTrap: (machine: Machine) => void;
  /** Called when a poll of the process has recorded something. */
  readonly onRecorded: (duty: string, poll: number, by: Machine) => void;
}

const RECORD_EVERY_MS = 700;

/** A process of a machine: its duties, and a poll for each that it holds, which records until the duty is lost. */
export class Machine {
  readonly name: string;
  readonly life: Life;
  readonly #held = new Map<string, HeldDuty>();
  readonly #stopping = new AbortController();
  readonly #clock: Clock;
  readonly #parts: MachineParts;

  constructor(name: string, parts: MachineParts) {
    this.name = name;
    this.#parts = parts;
    this.life = new Life(name, () => parts.onTrap(this));
    const { table, clock, network, leaseMs, duties, speed } = parts;
    this.#clock = clockOf(this.life, atSpeed(clock, speed));
    const leased = new LeasedDuties({
      machines: machinesOver(table, name, { clock, network, life: this.life }),
      clock: this.#clock,
      own: { machine: name, role: 'run' },
      leaseMs,
      onFailure: () => undefined,
    });
    const { signal } = this.#stopping;
    for (const duty of duties)
      void leased.whileHeld(duty, (held, lost) => this.#poll(duty, held, lost), signal);
    void leased.run(signal);
  }

  /** Whether this process believes that no other one can hold the duty. */
  trusts(duty: string): boolean {
    return !this.life.isDead && this.#held.get(duty)?.isTrusted() === true;
  }

  /** Stops it in order. */
  stop(): void {
    this.#stopping.abort();
  }

  async #poll(duty: string, held: HeldDuty, signal: AbortSignal): Promise<void> {
    this.#held.set(duty, held);
    const { table, onRecorded } = this.#parts;
    const poll = await this.life.act(async () => table.startPoll(duty, held.token));
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
