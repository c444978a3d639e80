import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse, stringify } from 'yaml';
import type { Place } from './machine.ts';
import { type Form, MAPPED, optionsOf } from './mappings/form.ts';
import type { InForce } from './mappings/in-force.ts';

/** The options of a sink as the file has them. */
type Options = Record<string, unknown>;

/** Interval at which leadsync is asked for its configuration, in ms. */
const ASK_MS = 250;
/** Maximum time for its answer, and for that of a reload, in ms. */
const ANSWER_MS = 1_000;
const RELOAD_MS = 4_000;

/** The configuration files of all machines, which leadsync watches. An operator changes the mappings in them. */
export class Configuration {
  readonly #places: readonly Place[];
  readonly #inForce: InForce;
  #closed = false;

  constructor(places: readonly Place[], inForce: InForce) {
    this.#places = places;
    this.#inForce = inForce;
    void this.#observe();
  }

  /** Gives sinks other mappings, in one change of each file. */
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
    for (const { configFile } of this.#places) {
      const config = parse(readFileSync(configFile, 'utf8')) as { sinks: Record<string, Options> };
      change(config.sinks);
      // Renamed into place, so that a process that starts now reads a whole file.
      writeFileSync(`${configFile}.new`, stringify(config));
      renameSync(`${configFile}.new`, configFile);
    }
  }

  /** Asks each leadsync to apply its file now. Without this, it notices the change itself. */
  async reload(): Promise<void> {
    const last = this.#inForce.last();
    const applied = await Promise.all(this.#places.map(applyNow));
    if (applied.every(Boolean)) for (const { sink, number } of last) this.#inForce.reported(sink, number);
  }

  close(): void {
    this.#closed = true;
  }

  /** Asks each leadsync again and again which mappings are in force. */
  async #observe(): Promise<void> {
    let before: readonly Map<string, number>[] = [];
    while (!this.#closed) {
      await sleep(ASK_MS, undefined, { ref: false });
      const now = await Promise.all(
        this.#places.map((place) => reportedBy(place).catch(() => new Map<string, number>())),
      );
      for (const sink of MAPPED) {
        const number = now[0]?.get(sink);
        // A process that has just started reports the file some moments before the file is in force.
        const isSteady = [...before, ...now].every((reported) => reported.get(sink) === number);
        if (number !== undefined && before.length > 0 && isSteady) this.#inForce.reported(sink, number);
      }
      before = now;
    }
  }
}

/** Asks a leadsync to apply its file. Returns whether it did. */
async function applyNow({ adminUrl }: Place): Promise<boolean> {
  const signal = AbortSignal.timeout(RELOAD_MS);
  const answer = await fetch(`${adminUrl}/-/reload`, { method: 'POST', signal });
  return ((await answer.json()) as { applied: boolean }).applied;
}

/** Returns the number of the mapping that each sink of a leadsync has; none for a sink that gets leads as received. */
async function reportedBy({ adminUrl }: Place): Promise<Map<string, number>> {
  const signal = AbortSignal.timeout(ANSWER_MS);
  const answer = await fetch(`${adminUrl}/api/v1/configuration`, { signal });
  const { values } = (await answer.json()) as { values: readonly { path: string; value: string }[] };
  return new Map(
    values.flatMap(({ path, value }) => {
      const sink = /^sinks\.(\w+)\.fields\.form\.value$/.exec(path)?.[1];
      return sink === undefined ? [] : [[sink, Number(value)] as const];
    }),
  );
}
