import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { parse, stringify } from 'yaml';
import type { SinkName } from '../support/scene/scene.ts';

/** The options of a sink as the file has them. */
type Options = Record<string, unknown>;

/** The configuration file, which leadsync watches. An operator changes the mappings in it. */
export class Configuration {
  readonly #file: string;

  constructor(file: string) {
    this.#file = file;
  }

  /**
   * Gives a sink another mapping, or none, and with it all leads in another form. `form` is a number that the mapped leads of a webhook
   * contain.
   */
  map(sink: SinkName, form: number | undefined): void {
    this.#change(sink, (options) => ({
      ...options,
      fields: form === undefined ? undefined : fieldsOf(sink, form),
    }));
  }

  #change(sink: SinkName, change: (options: Options) => Options): void {
    const config = parse(readFileSync(this.#file, 'utf8')) as { sinks: Record<string, Options> };
    config.sinks[sink] = change(config.sinks[sink] ?? {});
    // Renamed into place, so that a process that starts now reads a whole file.
    writeFileSync(`${this.#file}.new`, stringify(config));
    renameSync(`${this.#file}.new`, this.#file);
  }
}

/**
 * Returns fields that change with each form. Those of a webhook and of files have the lead's id and version; a table has both in columns of
 * its own.
 */
function fieldsOf(sink: SinkName, form: number): Options {
  return {
    ...(sink === 'warehouse' ? {} : { id: 'lead.id', all_details_one_liner: 'lead.all_details_one_liner' }),
    ...(form % 3 === 0 ? { [`only_${form}`]: 'rotate(["101", "102"], lead.key)' } : {}),
    form: { value: form },
  };
}
