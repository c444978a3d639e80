import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

/** The labels of a metric, each with every value it can have. */
export type Labels = Readonly<Record<string, readonly string[]>>;

type Combination = Record<string, string>;

interface Instrument {
  readonly labels: Labels;
  readonly zero: (combination: Combination) => void;
  readonly remove: (combination: Combination) => void;
}

/**
 * Makes the instruments of one registry. Each is there with every combination of its labels from the start, at 0: a
 * series that appears only with its first event hides that event from `rate()`.
 */
export class Instruments {
  readonly #registers: Registry[];
  readonly #made: Instrument[] = [];

  constructor(registry: Registry) {
    this.#registers = [registry];
  }

  counter(name: string, help: string, labels: Labels = {}): Counter {
    const made = new Counter({ name, help, labelNames: Object.keys(labels), registers: this.#registers });
    return this.#keep(made, labels, (combination) => made.inc(combination, 0));
  }

  /** `read` is run before the gauge is shown; it may set it. */
  gauge(
    name: string,
    help: string,
    labels: Labels = {},
    read?: (gauge: Gauge) => void | Promise<void>,
  ): Gauge {
    const made: Gauge = new Gauge({
      name,
      help,
      labelNames: Object.keys(labels),
      registers: this.#registers,
      ...(read && { collect: () => read(made) }),
    });
    return this.#keep(made, labels, (combination) => made.set(combination, 0));
  }

  /** A gauge that begins as NaN, with which no comparison is true: for what is not known before it is first set. */
  unknownGauge(name: string, help: string, labels: Labels): Gauge {
    const made = new Gauge({ name, help, labelNames: Object.keys(labels), registers: this.#registers });
    return this.#keep(made, labels, (combination) => made.set(combination, Number.NaN));
  }

  histogram(name: string, help: string, labels: Labels, buckets: number[]): Histogram {
    const registers = this.#registers;
    const made = new Histogram({ name, help, labelNames: Object.keys(labels), buckets, registers });
    return this.#keep(made, labels, (combination) => made.zero(combination));
  }

  /** A label has one more value: shows every series that has it, at 0. */
  add(label: string, value: string): void {
    this.#forEach(label, value, ({ zero }, combination) => zero(combination));
  }

  /** A label has a value no longer: its series are shown no more. */
  remove(label: string, value: string): void {
    this.#forEach(label, value, ({ remove }, combination) => remove(combination));
  }

  #keep<Kind extends Counter | Gauge | Histogram>(
    made: Kind,
    labels: Labels,
    zero: Instrument['zero'],
  ): Kind {
    for (const combination of combinations(labels)) zero(combination);
    this.#made.push({ labels, zero, remove: (combination) => made.remove(combination) });
    return made;
  }

  #forEach(label: string, value: string, change: (made: Instrument, combination: Combination) => void): void {
    for (const made of this.#made) {
      if (!(label in made.labels)) continue;
      for (const combination of combinations({ ...made.labels, [label]: [value] })) change(made, combination);
    }
  }
}

function combinations(labels: Labels): Combination[] {
  return Object.entries(labels).reduce<Combination[]>(
    (sofar, [label, values]) => sofar.flatMap((one) => values.map((value) => ({ ...one, [label]: value }))),
    [{}],
  );
}
