import type { Form, MappedSink } from './form.ts';

/** A mapping and the time in which it may have been in force, by `performance.now()`. */
interface Period {
  readonly form: Form;
  readonly fromMs: number;
  toMs: number;
}

/** Which mappings were in force when, as far as an observer of the file and of leadsync's answers knows. */
export class InForce {
  /** The mappings in the order in which they were written. */
  get periods(): readonly Readonly<Period>[] {
    return this.#periods;
  }

  readonly #periods: Period[] = [];

  /** Records mappings that are about to be written to the file: each may be in force from now on. */
  written(forms: readonly Form[]): void {
    const fromMs = performance.now();
    for (const form of forms) this.#periods.push({ form, fromMs, toMs: Number.POSITIVE_INFINITY });
  }

  /** Records that leadsync has reported the mapping with this number: no earlier mapping of the sink is in force from now on. */
  reported(sink: MappedSink, number: number): void {
    const periods = this.#of(sink);
    const at = periods.findIndex(({ form }) => form.number === number);
    const nowMs = performance.now();
    for (const earlier of periods.slice(0, Math.max(at, 0))) earlier.toMs = Math.min(earlier.toMs, nowMs);
  }

  /** Returns the mappings of a sink that may have been in force at any time of a period. */
  during(sink: MappedSink, fromMs: number, toMs: number): Form[] {
    const periods = this.#of(sink).filter((one) => one.fromMs <= toMs && one.toMs >= fromMs);
    return periods.map(({ form }) => form);
  }

  /** Returns the last mapping of each sink. */
  last(): Form[] {
    return [...new Map(this.#periods.map(({ form }) => [form.sink, form])).values()];
  }

  /** Returns the sinks of which an earlier mapping than the last may still be in force. */
  unsettled(): MappedSink[] {
    const sinks = [...new Set(this.#periods.map(({ form }) => form.sink))];
    return sinks.filter((sink) => this.during(sink, performance.now(), Number.POSITIVE_INFINITY).length > 1);
  }

  /** Returns a mapping by its number. */
  form(number: unknown): Form | undefined {
    return this.#periods.find(({ form }) => form.number === Number(number))?.form;
  }

  #of(sink: MappedSink): Period[] {
    return this.#periods.filter(({ form }) => form.sink === sink);
  }
}
