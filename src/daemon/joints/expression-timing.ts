import type { Clock } from '../../platform/time/clock.ts';

/** Measures how long the expressions of the configuration take for one lead. */
export class ExpressionTiming {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #standardFields: ReadonlySet<string>;
  #lastMs: number;
  #slowestMs = 0;
  #field = '';
  #totalMs = 0;

  /** Begins to measure. `standardFields` are the names of the fields whose expressions the sink type supplies, which do not count. */
  constructor(clock: Pick<Clock, 'monotonicMs'>, standardFields: ReadonlySet<string>) {
    this.#clock = clock;
    this.#standardFields = standardFields;
    this.#lastMs = clock.monotonicMs();
  }

  /** Records that the expression of an option was evaluated. */
  evaluated(path: readonly string[]): void {
    const nowMs = this.#clock.monotonicMs();
    const tookMs = nowMs - this.#lastMs;
    this.#lastMs = nowMs;
    const [section, name] = path;
    if (section === 'fields' && name !== undefined && this.#standardFields.has(name)) return;
    this.#totalMs += tookMs;
    if (tookMs < this.#slowestMs) return;
    this.#slowestMs = tookMs;
    this.#field = path.join('.');
  }

  /** Time of all expressions of the configuration, in ms. */
  get totalMs(): number {
    return this.#totalMs;
  }

  /** The option with the slowest of them, such as `fields.email`. */
  get slowest(): string {
    return this.#field;
  }
}
