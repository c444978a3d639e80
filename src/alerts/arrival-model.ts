const HOUR_MS = 3_600_000;
const WEEK_HOURS = 168;
/** As far back as the history goes, in hours. */
const KEPT_HOURS = 8 * WEEK_HOURS;
/** In so many weeks an hour of the week has to have been watched before anything is expected of it. */
const LEAST_WEEKS = 3;
/** As much as so many weeks of its own, the hours beside it say about an hour of the week. */
const NEIGHBOURS_WEIGHT = 1;
/** Bounds of the shape: below, leads come in bunches alone; above, they come as independently as can be. */
const [LEAST_SHAPE, MOST_SHAPE] = [0.2, 1000];

/** How many leads were new in the polls of one hour that came to their end. */
export interface HourOfPolls {
  readonly hour: Date;
  readonly leads: number;
}

/** What is to be expected of one hour of the week: leads, and in how many weeks it was watched. */
interface Expected {
  readonly leads: number;
  readonly weeks: number;
}

/** What is to be expected, as known at one hour. */
interface Model {
  readonly hour: number;
  /** Leads, by hour of the week. */
  readonly means: readonly number[];
  readonly shape: number;
}

/**
 * When new leads came, by hour of the week (in the process's time zone), over the last 8 weeks; and how likely a time without
 * one is. The number of leads in an hour is taken to be negative binomial: a Poisson number whose rate varies from week
 * to week, since leads come in bunches. Its mean is that of the same hour of the week, drawn a little to quieter hours
 * beside it; how bunched it is, is the same for all hours. An hour that was watched in fewer than 3 weeks says nothing, so that a
 * source without a history is never called silent.
 */
export class ArrivalModel {
  /** By hours since 1970. */
  readonly #leads = new Map<number, number>();
  #model: Model | undefined;

  /** Adds what polls found; the same hour may come again with more. */
  add(hours: readonly HourOfPolls[]): void {
    for (const { hour, leads } of hours) {
      const at = Math.floor(hour.getTime() / HOUR_MS);
      this.#leads.set(at, (this.#leads.get(at) ?? 0) + leads);
    }
    this.#model = undefined;
  }

  /** How likely it is that no lead is new from one time to another. 1 where the history says nothing. */
  probabilityOfNone(from: Date, until: Date): number {
    const { means, shape } = this.#modelAt(Math.floor(from.getTime() / HOUR_MS));
    let logarithm = 0;
    for (let ms = from.getTime(); ms < until.getTime(); ) {
      const endMs = Math.min((Math.floor(ms / HOUR_MS) + 1) * HOUR_MS, until.getTime());
      const mean = (means[hourOfWeek(Math.floor(ms / HOUR_MS))] ?? 0) * ((endMs - ms) / HOUR_MS);
      logarithm += shape * Math.log(shape / (shape + mean));
      ms = endMs;
    }
    return Math.exp(logarithm);
  }

  /** Learnt from what was before the silence: its own hours would make it plausible. */
  #modelAt(hour: number): Model {
    if (this.#model?.hour === hour) return this.#model;
    for (const at of this.#leads.keys()) if (at < hour - KEPT_HOURS) this.#leads.delete(at);
    const past = [...this.#leads].filter(([at]) => at < hour);
    const expected = expectedOf(past);
    this.#model = { hour, means: meansOf(expected), shape: shapeOf(past, expected) };
    return this.#model;
  }
}

function expectedOf(past: readonly (readonly [hour: number, leads: number])[]): readonly Expected[] {
  const sums = Array.from({ length: WEEK_HOURS }, () => ({ leads: 0, weeks: 0 }));
  for (const [hour, leads] of past) {
    const sum = sums[hourOfWeek(hour)];
    if (!sum) continue;
    sum.leads += leads;
    sum.weeks += 1;
  }
  return sums;
}

function meansOf(expected: readonly Expected[]): readonly number[] {
  const own = expected.map(({ leads, weeks }) => (weeks === 0 ? 0 : leads / weeks));
  return expected.map(({ leads, weeks }, hour) => {
    if (weeks < LEAST_WEEKS) return 0;
    const before = own[(hour + WEEK_HOURS - 1) % WEEK_HOURS] ?? 0;
    const after = own[(hour + 1) % WEEK_HOURS] ?? 0;
    const beside = (before + after) / 2;
    // Never up: the hour before the day's work would be expected to have leads.
    return Math.min(leads / weeks, (leads + NEIGHBOURS_WEIGHT * beside) / (weeks + NEIGHBOURS_WEIGHT));
  });
}

/** By moments: the variance of a negative binomial number is mean + mean² / shape. */
function shapeOf(
  past: readonly (readonly [hour: number, leads: number])[],
  expected: readonly Expected[],
): number {
  let squares = 0;
  let beyondPoisson = 0;
  for (const [hour, leads] of past) {
    const { leads: sum, weeks } = expected[hourOfWeek(hour)] ?? { leads: 0, weeks: 0 };
    if (weeks < LEAST_WEEKS) continue;
    const mean = sum / weeks;
    squares += mean ** 2;
    beyondPoisson += (leads - mean) ** 2 * (weeks / (weeks - 1)) - mean;
  }
  if (beyondPoisson <= 0) return MOST_SHAPE;
  return Math.min(MOST_SHAPE, Math.max(LEAST_SHAPE, squares / beyondPoisson));
}

function hourOfWeek(hour: number): number {
  const date = new Date(hour * HOUR_MS);
  return date.getDay() * 24 + date.getHours();
}
