import type {
  Beat,
  Found,
  KnownDuty,
  KnownProcess,
  Machines,
  OwnLife,
} from '../../../src/ledger/contract/machines.ts';
import type { Clock } from '../../../src/platform/time/clock.ts';
import { Violation } from '../judging/violation.ts';
import type { Life } from '../life.ts';

interface DutyRow {
  holder: string | undefined;
  token: string;
  renewals: number;
  sinceMs: number;
  untilMs: number;
}

/** Minimum time for which a process keeps a duty before it gives it up for another one, in ms. */
const KEPT_MS = 600_000;

/** The tables of processes and duties on a server, whose clock can be set. Each beat is one step, as a transaction is. */
export class DutyTable {
  readonly #clock: Clock;
  readonly #leaseMs: number;
  readonly #processes = new Map<string, OwnLife & { seenAtMs: number }>();
  readonly #duties = new Map<string, DutyRow>();
  /** The poll of each source that may record. */
  readonly #polls = new Map<string, number>();
  /** The process of each batch that is leased. */
  readonly #leases = new Map<number, string>();
  #aheadMs = 0;
  #tokens = 0;
  #claims = 0;
  /** How often a duty was given up by a process that went on. */
  moves = 0;

  constructor(clock: Clock, leaseMs: number) {
    this.#clock = clock;
    this.#leaseMs = leaseMs;
  }

  get #nowMs(): number {
    return this.#clock.monotonicMs() + this.#aheadMs;
  }

  /** Sets the clock of the server ahead, or back if `ms` is negative. */
  setAhead(ms: number): void {
    this.#aheadMs += ms;
  }

  beat(holder: string, own: OwnLife, choose: (found: Found) => readonly string[]): Beat {
    for (const duty of own.wants) this.#add(duty);
    this.#processes.set(holder, { ...own, seenAtMs: this.#nowMs });
    for (const [duty, row] of this.#duties) if (row.holder === holder) this.#keep(duty, row, own);
    for (const duty of choose(this.#find())) this.#take(duty, holder);
    const held = [...this.#duties].filter(([, row]) => row.holder === holder);
    return { ...this.#find(), held: held.map(([duty, { token }]) => ({ duty, token })) };
  }

  leave(holder: string): void {
    this.#processes.delete(holder);
    for (const row of this.#duties.values())
      if (row.holder === holder) {
        row.holder = undefined;
        row.untilMs = this.#nowMs;
      }
  }

  /** Removes a process that is dead, unless it has beaten since. Returns whether it is removed. */
  remove(holder: string, lastBeat?: string): boolean {
    const process = this.#processes.get(holder);
    if (process && lastBeat !== undefined && String(process.seenAtMs) !== lastBeat) return false;
    this.leave(holder);
    return true;
  }

  /** Leases a batch. Returns its lease. */
  claim(holder: string): number {
    this.#claims += 1;
    this.#leases.set(this.#claims, holder);
    return this.#claims;
  }

  settle(lease: number): void {
    this.#leases.delete(lease);
  }

  /** Whether a lease was reclaimed, so that another process may attempt its batch. */
  isReclaimed(lease: number): boolean {
    return !this.#leases.has(lease);
  }

  /** Ends the leases of a process, unless it has shown that it is alive. Returns how many. */
  reclaim(holder: string): number {
    if (this.#processes.has(holder)) return 0;
    const leases = [...this.#leases].filter(([, name]) => name === holder).map(([lease]) => lease);
    for (const lease of leases) this.#leases.delete(lease);
    return leases.length;
  }

  /** Begins a poll under a token, and ends the one before. Returns its number; undefined if another process has taken the duty since. */
  startPoll(duty: string, token: string): number | undefined {
    if (this.#duties.get(duty)?.token !== token) return undefined;
    const poll = (this.#polls.get(duty) ?? 0) + 1;
    this.#polls.set(duty, poll);
    return poll;
  }

  /** Whether a poll may record. */
  record(duty: string, poll: number): boolean {
    return this.#polls.get(duty) === poll;
  }

  holderOf(duty: string): string | undefined {
    return this.#duties.get(duty)?.holder;
  }

  #add(duty: string): void {
    if (this.#duties.has(duty)) return;
    const nowMs = this.#nowMs;
    this.#duties.set(duty, { holder: undefined, token: '', renewals: 0, sinceMs: nowMs, untilMs: nowMs });
  }

  #keep(duty: string, row: DutyRow, own: OwnLife): void {
    row.renewals += 1;
    if (own.wants.includes(duty)) {
      row.untilMs = this.#nowMs + this.#leaseMs;
      return;
    }
    if (this.#nowMs - row.sinceMs < KEPT_MS)
      throw new Violation(`${duty} moved ${this.#nowMs - row.sinceMs} ms after it was taken`);
    this.moves += 1;
    row.holder = undefined;
    row.untilMs = this.#nowMs;
  }

  #take(duty: string, holder: string): void {
    this.#tokens += 1;
    const nowMs = this.#nowMs;
    const token = `token ${this.#tokens}`;
    this.#duties.set(duty, {
      holder,
      token,
      renewals: 0,
      sinceMs: nowMs,
      untilMs: nowMs + this.#leaseMs,
    });
  }

  #find(): Found {
    const nowMs = this.#nowMs;
    const processes: KnownProcess[] = [...this.#processes].map(([holder, { seenAtMs, ...own }]) => ({
      ...own,
      holder,
      seenMsAgo: nowMs - seenAtMs,
      lastBeat: String(seenAtMs),
    }));
    const duties: KnownDuty[] = [...this.#duties].map(([duty, { sinceMs, untilMs, ...row }]) => ({
      ...row,
      duty,
      heldForMs: nowMs - sinceMs,
      leftMs: untilMs - nowMs,
    }));
    return { processes, duties };
  }
}

/** What happens to one message: it takes so long, or it is lost. */
export interface Network {
  delayMs(): number | 'lost';
}

/** Returns the table as one process reaches it: every request and every answer takes time or is lost, and the table never waits for a process. */
export function machinesOver(
  table: DutyTable,
  holder: string,
  { clock, network, life }: { clock: Clock; network: Network; life: Life },
): Machines {
  const crossing = async () => {
    const delayMs = network.delayMs();
    if (delayMs === 'lost') await new Promise(() => undefined);
    else await clock.sleep(delayMs);
  };
  const call = async <T>(work: () => T): Promise<T> => {
    await crossing();
    // A transaction needs its process until it commits.
    if (!life.isRunning) return new Promise(() => undefined);
    const answer = work();
    await crossing();
    return answer;
  };
  return {
    holder,
    beat: (own, choose) => life.act(() => call(() => table.beat(holder, own, choose)), 'attempt'),
    leave: () => life.act(() => call(() => table.leave(holder))),
    remove: (other, lastBeat) => life.act(() => call(() => table.remove(other, lastBeat))),
    tell: async () => undefined,
    onMessage: () => undefined,
  };
}
