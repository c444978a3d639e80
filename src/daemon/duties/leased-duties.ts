import type { Beat, DutyWork, Found, Machines, OwnLife } from '../../ledger/contract/machines.ts';
import { dutiesToTake, isBetterElsewhere } from '../../ledger/rules/machines/choose-duties.ts';
import { type LeaseTimes, leaseTimes } from '../../ledger/rules/machines/lease-times.ts';
import { ObservedDuties } from '../../ledger/rules/machines/observed-duties.ts';
import type { Clock } from '../../platform/time/clock.ts';
import { Stopwatch } from '../../platform/time/stopwatch.ts';
import type { Duties, Duty } from './duties.ts';
import { HeldLease } from './held-lease.ts';
import { OtherProcesses } from './other-processes.ts';
import { SignsOfLife } from './signs-of-life.ts';

/** For how long a process stands behind the others after it has reported that a duty works badly in it, in ms. */
const RELUCTANT_MS = 300_000;

/** Maximum time for giving up everything at a stop, in ms. */
const LEAVING_MS = 1_000;

/** What the duties of a process work with. */
interface LeasedDutiesParts {
  readonly machines: Machines;
  readonly clock: Clock;
  /** Returns what this process says of itself besides its duties. */
  readonly own: () => Omit<OwnLife, 'wants' | 'reluctant'>;
  readonly leaseMs: number;
  /** Called when a beat fails, unless the one before it failed, too. */
  readonly onFailure: (error: unknown) => void;
}

/**
 * The duties of a process that shares its ledger with processes of other machines. Each beat renews the leases of the duties that it holds and takes free
 * ones. The process trusts a lease only for a part of its time, reckoned from before the beat was sent: an answer that comes late never makes it
 * believe in a lease that the ledger has given away.
 */
export class LeasedDuties implements Duties {
  /** Whether the other processes can see that this one is alive. */
  readonly life: SignsOfLife;
  readonly others: OtherProcesses;
  readonly #parts: LeasedDutiesParts;
  readonly #times: LeaseTimes;
  readonly #observed = new ObservedDuties();
  /** The duties as the last answered beat found them. */
  #found: Found['duties'] = [];
  /** The number of works of each duty. */
  readonly #wanted = new Map<string, number>();
  readonly #held = new Map<string, HeldLease>();
  /** Until when this process stands behind the others, by its monotonic clock. */
  readonly #reluctantUntilMs = new Map<string, number>();
  #changed = Promise.withResolvers<void>();
  #wake = new AbortController();
  #failure: unknown;
  /** The numbers of beats that were sent, and that have ended. */
  #sent = 0;
  #ended = 0;
  #isOver = false;
  #hasLeft = false;

  constructor(parts: LeasedDutiesParts) {
    this.#parts = parts;
    this.#times = leaseTimes(parts.leaseMs);
    this.life = new SignsOfLife(this.#times.trustedMs);
    this.others = new OtherProcesses(parts.clock, this.#times);
    parts.machines.onMessage(({ kind }) => {
      if (kind === 'given-up' && this.#wanted.size > this.#held.size) this.#wake.abort();
    });
  }

  async whileHeld(duty: Duty, work: DutyWork, ending: AbortSignal): Promise<void> {
    this.#want(duty, 1);
    try {
      for (;;) {
        const held = await this.#nextHeld(duty, ending);
        if (!held || (await this.#run(held, work, ending))) return;
      }
    } finally {
      this.#want(duty, -1);
    }
  }

  /** Whether no other process can hold the duty. */
  holds(duty: Duty): boolean {
    return this.#held.get(duty)?.isTrusted() === true;
  }

  /** Returns the duties that no other process can hold. */
  held(): readonly string[] {
    return [...this.#held].filter(([, held]) => held.isTrusted()).map(([duty]) => duty);
  }

  /** Returns the process that holds a duty, if it is another one; undefined if this process does, or none. */
  holderOf(duty: Duty): { readonly holder: string; readonly renewals: number } | undefined {
    const found = this.#found.find((known) => known.duty === duty);
    if (found?.holder === undefined || found.holder === this.#parts.machines.holder) return undefined;
    return { holder: found.holder, renewals: found.renewals };
  }

  /** Why beats have failed since the last one that was answered; undefined if none has. */
  get failure(): unknown {
    return this.#failure;
  }

  /** Whether `run` has ended, and the ledger no longer names this process. */
  get hasLeft(): boolean {
    return this.#hasLeft;
  }

  /** Sends beats until `signal` aborts. Then waits for the works that run, and gives up all duties. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, machines, onFailure } = this.#parts;
    while (!signal.aborted) {
      this.#wake = new AbortController();
      const sinceSent = new Stopwatch(clock);
      await this.#beat(sinceSent);
      await this.#pause(this.#times.beatMs - sinceSent.elapsedMs(), signal);
    }
    while ([...this.#held.values()].some(({ running }) => running > 0)) await this.#changed.promise;
    // If the server does not answer, the leases end by themselves.
    const left = new AbortController();
    const leaving = machines.leave().then(() => {
      this.#hasLeft = true;
    }, onFailure);
    await Promise.race([leaving, clock.sleep(LEAVING_MS, left.signal)]);
    left.abort();
    for (const held of this.#held.values()) held.lose();
    this.#isOver = true;
    this.#tell();
  }

  /** Sends a beat now, unless this process no longer sends any. Resolves when it was answered or has failed. */
  async beatNow(): Promise<void> {
    const before = this.#sent;
    this.#wake.abort();
    while (this.#ended <= before && !this.#isOver) await this.#changed.promise;
  }

  async #pause(ms: number, signal: AbortSignal): Promise<void> {
    const { signal: wake } = this.#wake;
    const end = () => this.#wake.abort();
    signal.addEventListener('abort', end, { once: true });
    if (signal.aborted) end();
    await this.#parts.clock.sleep(ms, wake);
    signal.removeEventListener('abort', end);
  }

  async #beat(sinceSent: Stopwatch): Promise<void> {
    const { clock, machines } = this.#parts;
    const answered = new AbortController();
    this.#sent += 1;
    try {
      const beat = await Promise.race([
        machines.beat(this.#ownLife(), (found) => this.#choose(found)),
        // The answer to a beat that is given up here is ignored: the next beat shows what came of it.
        clock.sleep(this.#times.beatMs, answered.signal),
      ]);
      if (beat) this.#apply(beat, sinceSent);
    } catch (error) {
      this.#fail(error);
    } finally {
      answered.abort();
      this.#ended = this.#sent;
      this.#tell();
    }
  }

  #fail(error: unknown): void {
    if (this.#failure === undefined) this.#parts.onFailure(error);
    this.#failure = error;
  }

  #ownLife(): OwnLife {
    const nowMs = this.#parts.clock.monotonicMs();
    for (const [duty, untilMs] of this.#reluctantUntilMs)
      if (untilMs <= nowMs) this.#reluctantUntilMs.delete(duty);
    const wants = [...this.#wanted.keys()].filter((duty) => !isGivenUp(this.#held.get(duty)));
    return { ...this.#parts.own(), wants: wants.sort(), reluctant: [...this.#reluctantUntilMs.keys()] };
  }

  #choose(found: Found): readonly string[] {
    const { machines, clock } = this.#parts;
    const { holder } = machines;
    const nowMs = clock.monotonicMs();
    const wants = found.processes.find((process) => process.holder === holder)?.wants ?? [];
    const unchangedMs = (duty: Found['duties'][number]) => this.#observed.unchangedMs(duty, nowMs);
    return dutiesToTake(found, { holder, wants, unchangedMs }, this.#times);
  }

  #apply(beat: Beat, sinceSent: Stopwatch): void {
    const { clock, machines } = this.#parts;
    this.#failure = undefined;
    this.#observed.see(beat.duties, clock.monotonicMs());
    this.others.see(beat, machines.holder);
    this.#found = beat.duties;
    const tokens = new Map(beat.held.map(({ duty, token }) => [duty, token]));
    for (const [duty, held] of this.#held) if (tokens.get(duty) !== held.token) this.#lose(duty, held);
    for (const [duty, token] of tokens) {
      const held = this.#held.get(duty);
      if (held && !held.lost.aborted) held.renew(sinceSent);
      else this.#hold(duty, token, sinceSent);
    }
    for (const duty of beat.duties)
      if (isBetterElsewhere(duty, beat, machines.holder, this.#times)) this.#held.get(duty.duty)?.retire();
    this.life.show(sinceSent);
  }

  #hold(duty: string, token: string, sinceSent: Stopwatch): void {
    const { clock } = this.#parts;
    const preferOthers = () => {
      this.#reluctantUntilMs.set(duty, clock.monotonicMs() + RELUCTANT_MS);
    };
    const held = new HeldLease(token, sinceSent, this.#times.trustedMs, preferOthers);
    this.#held.set(duty, held);
    void held.expire(clock).then(() => this.#tell());
  }

  #lose(duty: string, held: HeldLease): void {
    held.lose();
    this.#held.delete(duty);
  }

  /** Runs a work under a lease. Returns whether the work is done: it returned by itself, or after `ending` aborted. */
  async #run(held: HeldLease, work: DutyWork, ending: AbortSignal): Promise<boolean> {
    held.running += 1;
    try {
      await work(held, held.lost);
    } catch (error) {
      if (!held.lost.aborted) throw error;
    } finally {
      held.running -= 1;
      if (isGivenUp(held)) this.#wake.abort();
      this.#tell();
    }
    return ending.aborted || !(held.lost.aborted || held.retiring.aborted);
  }

  /** Returns the lease of a duty once this process holds it; undefined if `ending` aborts first. */
  async #nextHeld(duty: string, ending: AbortSignal): Promise<HeldLease | undefined> {
    const tell = () => this.#tell();
    ending.addEventListener('abort', tell, { once: true });
    try {
      while (!ending.aborted) {
        const held = this.#held.get(duty);
        if (held?.isTrusted() && !held.retiring.aborted) return held;
        await this.#changed.promise;
      }
      return undefined;
    } finally {
      ending.removeEventListener('abort', tell);
    }
  }

  #want(duty: string, more: 1 | -1): void {
    const works = (this.#wanted.get(duty) ?? 0) + more;
    if (works > 0) this.#wanted.set(duty, works);
    else this.#wanted.delete(duty);
    if (works === 0 || (works === 1 && more === 1)) this.#wake.abort();
  }

  #tell(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}

/** Whether a lease is to be given up with the next beat, because every work has come to a quiet place. */
function isGivenUp(held: HeldLease | undefined): boolean {
  return held?.retiring.aborted === true && held.running === 0;
}
