import type { Path } from '../faults/fault-list.ts';
import { takesSecretFile } from '../options/absolute-paths.ts';
import { daemonOptions } from '../options/daemon-options.ts';
import { type JsonSchema, optionSchema, schemaOf } from '../options/option-schema.ts';
import { ANY_TYPE, sinkOptions } from '../options/sink-options.ts';

/**
 * What a configuration is read for. `everything`: to read leads and to deliver them. `ledger`: to look into the ledger and
 * to mend what is in it; then a secret that is not at hand is no fault where only reading and delivering need it.
 */
export type Purpose = 'everything' | 'ledger';

/** Whether the value at a path is needed for that purpose: one that is not may be absent from the environment. */
export function isNeeded(path: Path, purpose: Purpose): boolean {
  if (purpose === 'everything') return true;
  const [section, , option] = path;
  switch (section) {
    case 'sources':
      return option === undefined || option === 'poll';
    case 'sinks':
      return option === undefined || option === 'type' || COMMON.has(String(option));
    case 'alerts':
      return false;
    default:
      return !isSecret(path);
  }
}

/** The options that every sink has are the ledger's business: which events are owed, when it is tried again. */
const COMMON: ReadonlySet<string> = new Set(Object.keys(sinkOptions(ANY_TYPE).shape));

/** Made when it is first asked for: that takes longer than to read a file. */
let daemonSchema: JsonSchema | undefined;

/** Whether a path of the top of the configuration is that of a secret, or leads into one. */
function isSecret(path: Path): boolean {
  daemonSchema ??= optionSchema(daemonOptions);
  let schema: JsonSchema | undefined = daemonSchema;
  for (const key of path) {
    schema = schema && schemaOf(schema, String(key));
    if (takesSecretFile(schema)) return true;
  }
  return false;
}

/** Returns a value without the secrets that its schema knows. */
export function withoutSecrets(value: unknown, schema: JsonSchema): unknown {
  if (!isMap(value)) return value;
  const kept = Object.entries(value).flatMap(([key, inside]) => {
    const of = schemaOf(schema, key) ?? {};
    return takesSecretFile(of) ? [] : [[key, withoutSecrets(inside, of)] as const];
  });
  return Object.fromEntries(kept);
}

/** What YAML calls a map. */
export function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
