import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

/** The labels of a metric, each with every value it can have. */
export type Labels = Readonly<Record<string, readonly string[]>>;

/**
 * Makes the instruments of one registry. Each is there with every combination of its labels from the start, at 0: a
 * series that appears only with its first event hides that event from `rate()`.
 */
export class Instruments {
  readonly #registers: Registry[];

  constructor(registry: Registry) {
    this.#registers = [registry];
  }

  counter(name: string, help: string, labels: Labels = {}): Counter {
    const made = new Counter({ name, help, labelNames: Object.keys(labels), registers: this.#registers });
    for (const combination of combinations(labels)) made.inc(combination, 0);
    return made;
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
    for (const combination of combinations(labels)) made.set(combination, 0);
    return made;
  }

  histogram(name: string, help: string, labels: Labels, buckets: number[]): Histogram {
    const registers = this.#registers;
    const made = new Histogram({ name, help, labelNames: Object.keys(labels), buckets, registers });
    for (const combination of combinations(labels)) made.zero(combination);
    return made;
  }
}

function combinations(labels: Labels): Record<string, string>[] {
  return Object.entries(labels).reduce<Record<string, string>[]>(
    (sofar, [label, values]) => sofar.flatMap((one) => values.map((value) => ({ ...one, [label]: value }))),
    [{}],
  );
}
