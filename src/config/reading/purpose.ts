import { builtOnce } from '../../platform/options/built-once.ts';
import type { Path } from '../faults/fault-list.ts';
import { takesSecretFile } from '../options/absolute-paths.ts';
import { daemonOptions } from '../options/daemon-options.ts';
import { type JsonSchema, optionJsonSchema, schemaOf } from '../options/option-json-schema.ts';
import { ANY_TYPE, sinkOptions } from '../options/sink-options.ts';

/**
 * What a configuration is read for. `everything`: to poll and deliver. `ledger`: to read and change the ledger; then an unavailable
 * secret that only polling and delivering need is not a fault. The address of the ledger's server is needed for both.
 */
export type Purpose = 'everything' | 'ledger';

/** Whether a purpose needs the value at a path. Variables in other values may be unset. */
export function isNeeded(path: Path, purpose: Purpose): boolean {
  if (purpose === 'everything') return true;
  const [section, , option] = path;
  switch (section) {
    case 'sources':
      return option === undefined || option === 'poll';
    case 'sinks':
      return option === undefined || option === 'type' || commonOptions().has(String(option));
    case 'alerts':
      return false;
    case 'ledger':
      return true; // without its address, a command would open another ledger: the file in data_dir
    default:
      return !isSecret(path);
  }
}

/** Returns the names of the options that every sink has. The ledger needs their values, such as which events are owed and when to retry. */
const commonOptions = builtOnce((): ReadonlySet<string> => new Set(Object.keys(sinkOptions(ANY_TYPE).shape)));

/** Returns the schema of the top-level options. */
const daemonSchema = builtOnce(() => optionJsonSchema(daemonOptions));

/** Whether a path in a top-level section is the path of a secret, or leads into one. */
function isSecret(path: Path): boolean {
  let schema: JsonSchema | undefined = daemonSchema();
  for (const key of path) {
    schema = schema && schemaOf(schema, String(key));
    if (takesSecretFile(schema)) return true;
  }
  return false;
}

/** Returns a value without the secrets that its schema declares. */
export function withoutSecrets(value: unknown, schema: JsonSchema): unknown {
  if (!isMap(value)) return value;
  const kept = Object.entries(value).flatMap(([key, inside]) => {
    const of = schemaOf(schema, key) ?? {};
    return takesSecretFile(of) ? [] : [[key, withoutSecrets(inside, of)] as const];
  });
  return Object.fromEntries(kept);
}

/** Whether a value is a YAML map. */
export function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
