const HOUR_MS = 3_600_000;
const WEEK_HOURS = 168;
/** Length of the history, in hours. */
const HISTORY_HOURS = 8 * WEEK_HOURS;
/** Minimum number of weeks of observation for an hour of the week. With fewer, the model expects no leads in that hour. */
const MIN_WEEKS = 3;
/** Weight of the neighbouring hours in the mean of an hour of the week, in weeks of observation. */
const NEIGHBOURS_WEIGHT = 1;
/** Bounds of the shape parameter: at the lower bound, leads arrive in bursts; at the upper bound, they arrive independently of each other. */
const [MIN_SHAPE, MAX_SHAPE] = [0.2, 1000];

/** Number of new leads in the complete polls of one hour. */
export interface HourOfPolls {
  readonly hour: Date;
  readonly leads: number;
}

/** Sum of new leads in one hour of the week, and the number of weeks in which it was observed. */
interface HourOfWeek {
  readonly leads: number;
  readonly weeks: number;
}

/** The fitted model at one hour. */
interface Model {
  readonly hour: number;
  /** Expected leads by hour of the week. */
  readonly means: readonly number[];
  readonly shape: number;
}

/**
 * Models the arrival of new leads by hour of the week (in the process's time zone) over the last 8 weeks, and computes the probability that none
 * arrives in a given time. The model assumes a negative binomial distribution: a Poisson distribution whose rate varies from week to week,
 * because leads arrive in bursts. The mean of an hour of the week comes from its past occurrences, and is smoothed towards quieter neighbouring
 * hours. All hours share one shape parameter. In an hour with fewer than 3 weeks of observation, the model expects no leads, so that a source
 * without a history never counts as silent.
 */
export class ArrivalModel {
  /** New leads by hour since 1970. */
  readonly #leads = new Map<number, number>();
  #model: Model | undefined;

  /** Adds the results of polls. If an hour is added several times, its leads add up. */
  add(hours: readonly HourOfPolls[]): void {
    for (const { hour, leads } of hours) {
      const at = Math.floor(hour.getTime() / HOUR_MS);
      this.#leads.set(at, (this.#leads.get(at) ?? 0) + leads);
    }
    this.#model = undefined;
  }

  /** Returns the probability that no new lead arrives between two times; 1 if there is too little history. */
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

  /** Returns the model at the start of a silence. Uses only earlier hours, because the silent hours would make silence look probable. */
  #modelAt(hour: number): Model {
    if (this.#model?.hour === hour) return this.#model;
    for (const at of this.#leads.keys()) if (at < hour - HISTORY_HOURS) this.#leads.delete(at);
    const past = [...this.#leads].filter(([at]) => at < hour);
    const expected = expectedOf(past);
    this.#model = { hour, means: meansOf(expected), shape: shapeOf(past, expected) };
    return this.#model;
  }
}

function expectedOf(past: readonly (readonly [hour: number, leads: number])[]): readonly HourOfWeek[] {
  const sums = Array.from({ length: WEEK_HOURS }, () => ({ leads: 0, weeks: 0 }));
  for (const [hour, leads] of past) {
    const sum = sums[hourOfWeek(hour)];
    if (!sum) continue;
    sum.leads += leads;
    sum.weeks += 1;
  }
  return sums;
}

function meansOf(expected: readonly HourOfWeek[]): readonly number[] {
  const own = expected.map(({ leads, weeks }) => (weeks === 0 ? 0 : leads / weeks));
  return expected.map(({ leads, weeks }, hour) => {
    if (weeks < MIN_WEEKS) return 0;
    const before = own[(hour + WEEK_HOURS - 1) % WEEK_HOURS] ?? 0;
    const after = own[(hour + 1) % WEEK_HOURS] ?? 0;
    const neighbours = (before + after) / 2;
    // Smooths downwards only; otherwise the hour before office hours would expect leads.
    return Math.min(leads / weeks, (leads + NEIGHBOURS_WEIGHT * neighbours) / (weeks + NEIGHBOURS_WEIGHT));
  });
}

/** Estimates the shape by the method of moments: the variance of the distribution is mean + mean² / shape. */
function shapeOf(
  past: readonly (readonly [hour: number, leads: number])[],
  expected: readonly HourOfWeek[],
): number {
  let squares = 0;
  let beyondPoisson = 0;
  for (const [hour, leads] of past) {
    const { leads: sum, weeks } = expected[hourOfWeek(hour)] ?? { leads: 0, weeks: 0 };
    if (weeks < MIN_WEEKS) continue;
    const mean = sum / weeks;
    squares += mean ** 2;
    beyondPoisson += (leads - mean) ** 2 * (weeks / (weeks - 1)) - mean;
  }
  if (beyondPoisson <= 0) return MAX_SHAPE;
  return Math.min(MAX_SHAPE, Math.max(MIN_SHAPE, squares / beyondPoisson));
}

function hourOfWeek(hour: number): number {
  const date = new Date(hour * HOUR_MS);
  return date.getDay() * 24 + date.getHours();
}
