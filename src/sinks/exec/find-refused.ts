import type { Delivered, Outcome, Refused, Untried } from '../../leads/outcome.ts';
import { REFUSALS_BEFORE_HOLD } from '../../leads/sink-health.ts';
import { attemptParts } from '../attempt-parts.ts';
import type { AttemptUnderWay } from '../sink.ts';
import { SinkUnavailable } from '../sink-unavailable.ts';
import type { FailedRun } from './judge-run.ts';

/** How leads are tried in parts after all of them together failed. */
interface Search<Delivery> {
  readonly under: AttemptUnderWay;
  /** Maximum time of one run, in ms. */
  readonly partMs: number;
  /** A number from 0 (inclusive) to 1 (exclusive) that differs between attempts. Determines which leads are tried alone. */
  readonly offset: number;
  /** Returns the outcome of a lead that the program does not take while it takes others. */
  readonly refused: (run: FailedRun) => Refused;
  /** Records that the program failed for a lead alone. Returns whether earlier attempts have shown that the lead is at fault. */
  readonly isAtFault: (delivery: Delivery) => boolean;
  /** Returns the error for a program that takes no lead. */
  readonly unavailable: (run: FailedRun) => SinkUnavailable;
}

/** Runs the program for some deliveries. Returns undefined if it took them. @throws SinkUnavailable */
type Attempt<Delivery> = (part: readonly Delivery[]) => Promise<FailedRun | undefined>;

/**
 * Finds the leads that a program does not take, after it failed for all of them together. Returns one outcome per delivery.
 *
 * An exit code does not say whether a lead or the program is at fault. So a few leads are tried alone first, spread over the batch. If the
 * program takes none of them, it counts as broken: nothing is refused, and the cost is a few starts however large the batch is. If it takes
 * one, it works, and halving finds the leads that it does not take.
 *
 * The program may also fail for a while, or break down during the search. So a lead is refused only if the program fails for it alone, then
 * takes another one, and then fails for it again; if earlier attempts have shown the same; or if the program itself blames the lead. One lead
 * is kept back to serve as that other lead at the end.
 * @throws SinkUnavailable if the program took none of the leads and blamed none of them
 */
export async function findRefused<Delivery>(
  leads: readonly (readonly Delivery[])[],
  failed: FailedRun,
  attempt: Attempt<Delivery>,
  search: Search<Delivery>,
): Promise<ReadonlyMap<Delivery, Outcome>> {
  const [first] = leads;
  const finder = new Finder(attempt, search);
  if (leads.length === 1 && first) finder.noteOnly(first, failed);
  else await finder.searchParts(leads);
  return finder.outcomes();
}

/** What is known about a lead that the program did not take alone. */
interface Suspect<Delivery> {
  readonly lead: readonly Delivery[];
  readonly run: FailedRun;
  /** Number of runs that had succeeded before. */
  readonly successes: number;
  /** Whether it is already certain that the lead is at fault. */
  readonly isAtFault: boolean;
}

const UNSURE: Untried = { kind: 'untried', mayHaveArrived: true };

/** Tries leads and remembers what became of them. */
class Finder<Delivery> {
  readonly #attempt: Attempt<Delivery>;
  readonly #search: Search<Delivery>;
  readonly #outcomes = new Map<Delivery, Outcome>();
  readonly #suspects: Suspect<Delivery>[] = [];
  #successes = 0;
  #last: FailedRun | undefined;
  /** Why the search ended early: the program as a whole became unavailable. */
  #ended: SinkUnavailable | undefined;

  constructor(attempt: Attempt<Delivery>, search: Search<Delivery>) {
    this.#attempt = attempt;
    this.#search = search;
  }

  /** Records the only lead of a batch, which the program did not take. @throws SinkUnavailable unless the lead is at fault */
  noteOnly(lead: readonly Delivery[], run: FailedRun): void {
    this.#last = run;
    this.#note(lead, run);
    this.#requireBlame();
  }

  /** Records a lead that the program did not take alone. */
  #note(lead: readonly Delivery[], run: FailedRun): void {
    const [only, ...others] = lead;
    const isAlone = only !== undefined && others.length === 0;
    const isAtFault = isAlone && (run.blamesLead || this.#search.isAtFault(only));
    this.#suspects.push({ lead, run, successes: this.#successes, isAtFault });
  }

  /** Tries leads alone and in halves. @throws SinkUnavailable if the program takes none of those that are tried alone */
  async searchParts(leads: readonly (readonly Delivery[])[]): Promise<void> {
    const { alone, others } = probesFirst(leads.length, this.#search.offset);
    const of = (positions: readonly number[]) => positions.map((at) => leads[at] ?? []);
    const tryAlone = (positions: readonly number[]) => this.#try(of(positions).map((lead) => [lead]));
    const control = others.length === 0 ? [] : alone.slice(-1);
    await tryAlone(alone.slice(0, alone.length - control.length));
    if (this.#successes > 0) {
      if (others.length > 0) await this.#try([of(others)]);
      await tryAlone(control);
    } else if (!this.#ended) {
      await tryAlone(control);
      if (this.#successes > 0) await this.#try([of(others)]);
    }
    if (this.#successes === 0) this.#requireBlame();
    // Every lead was in the first run, so a lead without an outcome may have arrived.
    for (const delivery of leads.flat())
      if (!this.#outcomes.has(delivery))
        this.#outcomes.set(delivery, this.#ended ? asUnsure(this.#ended) : UNSURE);
  }

  /** @throws SinkUnavailable unless the program itself blames a lead, or one is known to be at fault */
  #requireBlame(): void {
    if (this.#ended) throw this.#ended;
    if (this.#last && !this.#suspects.some(({ run, isAtFault }) => run.blamesLead || isAtFault))
      throw this.#search.unavailable(this.#last);
  }

  /** Settles the suspects and returns every outcome. */
  async outcomes(): Promise<ReadonlyMap<Delivery, Outcome>> {
    for (const suspect of this.#suspects) {
      // The deliveries of one lead are tried one by one, in order: if one has to wait, the later ones wait too.
      let waits: Outcome | undefined;
      for (const delivery of suspect.lead) {
        const outcome = waits ?? (await this.#settled(suspect, delivery));
        if (outcome.kind !== 'delivered' && outcome.kind !== 'refused') waits = outcome;
        this.#outcomes.set(delivery, outcome);
      }
    }
    return this.#outcomes;
  }

  async #settled({ run, successes, isAtFault }: Suspect<Delivery>, delivery: Delivery): Promise<Outcome> {
    const { refused, unavailable, under, partMs } = this.#search;
    if (isAtFault) return refused(run);
    if (this.#ended) return asUnsure(this.#ended);
    const tookOther = () => this.#successes > successes;
    if (!run.blamesLead && !tookOther()) return asUnsure(unavailable(run));
    if (under.timeLeftMs() < partMs) return UNSURE;
    try {
      const again = await this.#attempt([delivery]);
      if (again) return again.blamesLead || tookOther() ? refused(again) : asUnsure(unavailable(again));
      this.#successes += 1;
      return { kind: 'delivered' };
    } catch (error) {
      if (!(error instanceof SinkUnavailable)) throw error;
      this.#ended = error;
      return asUnsure(error);
    }
  }

  /** Tries parts one after the other, and halves those that the program does not take. Does nothing if there is no time left. */
  async #try(parts: readonly (readonly (readonly Delivery[])[])[]): Promise<void> {
    const { under, partMs, refused } = this.#search;
    const isFirst = this.#last === undefined && this.#successes === 0;
    if (parts.length === 0 || this.#ended || (!isFirst && under.timeLeftMs() < partMs)) return;
    const attempt = async (part: readonly (readonly Delivery[])[]): Promise<Delivered | Refused> => {
      try {
        const run = await this.#attempt(part.flat());
        if (run) this.#last = run;
        const [lead] = part;
        if (run && part.length === 1 && lead) this.#note(lead, run);
        if (run) return refused(run);
      } catch (error) {
        if (error instanceof SinkUnavailable) this.#ended = error;
        throw error;
      }
      this.#successes += 1;
      return { kind: 'delivered' };
    };
    try {
      const outcomes = await attemptParts(parts, attempt, {
        under: { timeLeftMs: () => under.timeLeftMs(), confirmLease: () => undefined }, // each run confirms it
        partMs,
      });
      for (const [at, lead] of parts.flat().entries())
        if (outcomes[at]?.kind === 'delivered')
          for (const delivery of lead) this.#outcomes.set(delivery, outcomes[at]);
    } catch (error) {
      if (error !== this.#ended) throw error;
    }
  }
}

/** Returns the failure as the outcome of a lead that was in an earlier run. */
function asUnsure(error: SinkUnavailable): Outcome {
  return { ...error.toOutcome(), unsent: false, mayHaveArrived: true };
}

/** Returns the positions of leads that are tried alone, evenly spread, and of the others. */
function probesFirst(count: number, offset: number) {
  const probes = Math.min(count, REFUSALS_BEFORE_HOLD);
  const alone = Array.from({ length: probes }, (_, at) => Math.floor(((at + offset) * count) / probes));
  const isAlone = new Set(alone);
  const others = Array.from({ length: count }, (_, at) => at).filter((at) => !isAlone.has(at));
  return { alone, others };
}
