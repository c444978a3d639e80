import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse, stringify } from 'yaml';
import { type Form, MAPPED, optionsOf } from './mappings/form.ts';
import type { InForce } from './mappings/in-force.ts';

/** The options of a sink as the file has them. */
type Options = Record<string, unknown>;

/** Interval at which leadsync is asked for its configuration, in ms. */
const ASK_MS = 250;
/** Maximum time for its answer, and for that of a reload, in ms. */
const ANSWER_MS = 1_000;
const RELOAD_MS = 4_000;

/** The configuration file, which leadsync watches. An operator changes the mappings in it. */
export class Configuration {
  readonly #file: string;
  readonly #adminUrl: string;
  readonly #inForce: InForce;
  #closed = false;

  constructor(file: string, adminUrl: string, inForce: InForce) {
    this.#file = file;
    this.#adminUrl = adminUrl;
    this.#inForce = inForce;
    void this.#observe();
  }

  /** Gives sinks other mappings, in one change of the file. */
  map(forms: readonly Form[]): void {
    this.#inForce.written(forms);
    this.#rewrite((sinks) => {
      for (const form of forms) sinks[form.sink] = { ...sinks[form.sink], ...optionsOf(form) };
    });
  }

  /** Changes options of one sink. */
  change(sink: string, options: Options): void {
    this.#rewrite((sinks) => {
      sinks[sink] = { ...sinks[sink], ...options };
    });
  }

  #rewrite(change: (sinks: Record<string, Options>) => void): void {
    const config = parse(readFileSync(this.#file, 'utf8')) as { sinks: Record<string, Options> };
    change(config.sinks);
    // Renamed into place, so that a process that starts now reads a whole file.
    writeFileSync(`${this.#file}.new`, stringify(config));
    renameSync(`${this.#file}.new`, this.#file);
  }

  /** Asks leadsync to apply the file now. Without this, it notices the change itself. */
  async reload(): Promise<void> {
    const last = this.#inForce.last();
    const signal = AbortSignal.timeout(RELOAD_MS);
    const answer = await fetch(`${this.#adminUrl}/-/reload`, { method: 'POST', signal });
    const { applied } = (await answer.json()) as { applied: boolean };
    if (applied) for (const { sink, number } of last) this.#inForce.reported(sink, number);
  }

  close(): void {
    this.#closed = true;
  }

  /** Asks leadsync again and again which mappings are in force. */
  async #observe(): Promise<void> {
    let before = new Map<string, number>();
    while (!this.#closed) {
      await sleep(ASK_MS, undefined, { ref: false });
      const now = await this.#reported().catch(() => new Map<string, number>());
      // A process that has just started reports the file some moments before the file is in force.
      for (const sink of MAPPED) {
        const number = now.get(sink);
        if (number !== undefined && number === before.get(sink)) this.#inForce.reported(sink, number);
      }
      before = now;
    }
  }

  /** Returns the number of the mapping that each sink has; none for a sink that gets leads as received. */
  async #reported(): Promise<Map<string, number>> {
    const signal = AbortSignal.timeout(ANSWER_MS);
    const answer = await fetch(`${this.#adminUrl}/api/v1/configuration`, { signal });
    const { values } = (await answer.json()) as { values: readonly { path: string; value: string }[] };
    return new Map(
      values.flatMap(({ path, value }) => {
        const sink = /^sinks\.(\w+)\.fields\.form\.value$/.exec(path)?.[1];
        return sink === undefined ? [] : [[sink, Number(value)] as const];
      }),
    );
  }
}
