import { setImmediate as turn } from 'node:timers/promises';
import type { Duty } from '../../../src/daemon/duties/duties.ts';
import { DUTY_LEASE_MS } from '../../../src/ledger/rules/machines/lease-times.ts';
import { HeldClock } from '../../support/time/held-clock.ts';
import { Chance } from '../chance.ts';
import { Violation } from '../judging/violation.ts';
import { DutyTable } from './duty-table.ts';
import { Machine } from './machine.ts';

export const LEASE_MS = DUTY_LEASE_MS;
export const BEAT_MS = LEASE_MS / 4;
export const DUTIES: readonly Duty[] = ['poll:main', 'poll:other', 'upkeep'];
/** The longest that a message takes while the network is whole, in ms. */
export const NETWORK_MS = 40;

/** How much the clocks of two machines may differ in speed. */
const SPEEDS = [0.98, 1.02] as const;

interface Cut {
  readonly kind: 'lost' | 'late';
}

/** Several machines over one table. After every step, no two may trust the same duty. */
export class Several {
  readonly clock = new HeldClock('2026-11-20T10:00:00.000Z', () => this.#rest());
  readonly table = new DutyTable(this.clock, LEASE_MS);
  readonly chance: Chance;
  readonly #machines: Machine[] = [];
  readonly #cut = new Map<string, Cut>();
  readonly #recorders = new Map<string, { readonly poll: number; readonly by: Machine }>();
  #violation: Violation | undefined;
  #starts = 0;
  recorded = 0;
  sent = 0;
  reclaimed = 0;

  constructor(seed: number) {
    this.chance = new Chance(seed, 'machines');
  }

  /** The processes that are neither dead nor stopped. */
  get alive(): readonly Machine[] {
    return this.#machines.filter(({ life }) => !life.isDead);
  }

  start(): Machine {
    this.#starts += 1;
    const name = `${this.chance.hex()} ${this.#starts}`;
    const [slow, fast] = SPEEDS;
    const machine = new Machine(name, {
      table: this.table,
      clock: this.clock,
      network: { delayMs: () => this.#delayMs(name) },
      leaseMs: LEASE_MS,
      duties: DUTIES,
      speed: slow + this.chance.random() * (fast - slow),
      onTrap: (trapped) => this.freeze(trapped),
      onSent: (lease, by) => this.#sentBy(lease, by),
      onReclaimed: (leases) => {
        this.reclaimed += leases;
      },
      onRecorded: (duty, poll, by) => this.#recordedBy(duty, poll, by),
    });
    this.#machines.push(machine);
    return machine;
  }

  /** Loses or delays what a machine sends and receives. */
  cut({ name }: Machine, kind: Cut['kind']): void {
    this.#cut.set(name, { kind });
  }

  /** Freezes a machine for up to four leases. */
  freeze({ life }: Machine): void {
    life.freeze();
    void this.clock.sleep(this.chance.below(4 * LEASE_MS)).then(() => life.thaw());
  }

  mend({ name }: Machine): void {
    this.#cut.delete(name);
  }

  /** Lets `ms` pass. @throws Violation */
  async pass(ms: number): Promise<void> {
    await this.clock.pass(ms);
    if (this.#violation) throw this.#violation;
  }

  trusting(duty: string): readonly Machine[] {
    return this.#machines.filter((machine) => machine.trusts(duty));
  }

  close(): void {
    for (const { life } of this.#machines) life.die();
  }

  #delayMs(name: string): number | 'lost' {
    const kind = this.#cut.get(name)?.kind;
    if (kind === 'lost' && this.chance.oneIn(2)) return 'lost';
    return this.chance.below(kind === 'late' ? 2 * LEASE_MS : NETWORK_MS);
  }

  #recordedBy(duty: string, poll: number, by: Machine): void {
    const last = this.#recorders.get(duty);
    if (last && (poll < last.poll || (poll === last.poll && by !== last.by)))
      this.#violation ??= new Violation(
        `${by.name} recorded in poll ${poll} of ${duty} after poll ${last.poll}`,
      );
    this.#recorders.set(duty, { poll, by });
    this.recorded += 1;
  }

  #sentBy(lease: number, by: Machine): void {
    if (this.table.isReclaimed(lease))
      this.#violation ??= new Violation(`${by.name} sent under lease ${lease}, which was reclaimed`);
    this.sent += 1;
  }

  async #rest(): Promise<void> {
    await turn();
    await turn();
    for (const duty of DUTIES) {
      const [one, other] = this.trusting(duty);
      if (one && other)
        this.#violation ??= new Violation(
          `${one.name} and ${other.name} both trust ${duty} at ${this.clock.passedMs} ms`,
        );
    }
  }
}
