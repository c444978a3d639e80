import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

/** Labels of a metric, each with all of its possible values. */
export type Labels = Readonly<Record<string, readonly string[]>>;

type Combination = Record<string, string>;

interface Instrument {
  readonly labels: Labels;
  readonly zero: (combination: Combination) => void;
  readonly remove: (combination: Combination) => void;
}

/**
 * Creates the metrics of one registry. Each metric, except an `unknownGauge`, starts at 0 with every combination of its labels, because a series that
 * appears only with its first event hides that event from `rate()`.
 */
export class Instruments {
  readonly #registers: Registry[];
  readonly #instruments: Instrument[] = [];

  constructor(registry: Registry) {
    this.#registers = [registry];
  }

  counter(name: string, help: string, labels: Labels = {}): Counter {
    const instrument = new Counter({
      name,
      help,
      labelNames: Object.keys(labels),
      registers: this.#registers,
    });
    return this.#keep(instrument, labels, (combination) => instrument.inc(combination, 0));
  }

  /** Creates a counter without labels. Calls `read`, which returns its value, at each scrape. */
  readCounter(name: string, help: string, read: () => number): Counter {
    return new Counter({
      name,
      help,
      registers: this.#registers,
      collect() {
        this.reset();
        this.inc(read());
      },
    });
  }

  /** Creates a gauge. Calls `read`, which can set the gauge, at each scrape. */
  gauge(
    name: string,
    help: string,
    labels: Labels = {},
    read?: (gauge: Gauge) => void | Promise<void>,
  ): Gauge {
    const instrument: Gauge = new Gauge({
      name,
      help,
      labelNames: Object.keys(labels),
      registers: this.#registers,
      ...(read && { collect: () => read(instrument) }),
    });
    return this.#keep(instrument, labels, (combination) => instrument.set(combination, 0));
  }

  /**
   * Creates a gauge that starts as NaN, which satisfies no comparison: for a value that is unknown until it is first set. Calls `read` as
   * `gauge` does.
   */
  unknownGauge(name: string, help: string, labels: Labels, read?: () => void | Promise<void>): Gauge {
    const instrument = new Gauge({
      name,
      help,
      labelNames: Object.keys(labels),
      registers: this.#registers,
      ...(read && { collect: read }),
    });
    return this.#keep(instrument, labels, (combination) => instrument.set(combination, Number.NaN));
  }

  histogram(name: string, help: string, labels: Labels, buckets: number[]): Histogram {
    const registers = this.#registers;
    const instrument = new Histogram({ name, help, labelNames: Object.keys(labels), buckets, registers });
    return this.#keep(instrument, labels, (combination) => instrument.zero(combination));
  }

  /** Adds a value of a label, and creates every series with that value at its initial value. */
  add(label: string, value: string): void {
    this.#forEach(label, value, ({ zero }, combination) => zero(combination));
  }

  /** Removes a value of a label and its series. */
  remove(label: string, value: string): void {
    this.#forEach(label, value, ({ remove }, combination) => remove(combination));
  }

  #keep<Kind extends Counter | Gauge | Histogram>(
    instrument: Kind,
    labels: Labels,
    zero: Instrument['zero'],
  ): Kind {
    for (const combination of combinations(labels)) zero(combination);
    this.#instruments.push({ labels, zero, remove: (combination) => instrument.remove(combination) });
    return instrument;
  }

  #forEach(
    label: string,
    value: string,
    change: (instrument: Instrument, combination: Combination) => void,
  ): void {
    for (const instrument of this.#instruments) {
      if (!(label in instrument.labels)) continue;
      for (const combination of combinations({ ...instrument.labels, [label]: [value] }))
        change(instrument, combination);
    }
  }
}

function combinations(labels: Labels): Combination[] {
  return Object.entries(labels).reduce<Combination[]>(
    (soFar, [label, values]) => soFar.flatMap((one) => values.map((value) => ({ ...one, [label]: value }))),
    [{}],
  );
}
