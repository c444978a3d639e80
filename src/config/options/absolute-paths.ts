import { resolve } from 'node:path';
import { isSchema, schemaOf } from './option-json-schema.ts';

/**
 * Returns the value with the path in each secret's `{ file: … }` resolved against `folder`, and calls `found` with each such path.
 * The schema distinguishes these maps from others that happen to have a key `file`.
 */
export function absoluteSecretFiles(
  value: unknown,
  schema: unknown,
  folder: string,
  found: (file: string) => void,
): unknown {
  if (typeof value !== 'object' || value === null || !isSchema(schema)) return value;
  if (Array.isArray(value))
    return value.map((item) => absoluteSecretFiles(item, schema.items, folder, found));
  if (schema.anyOf?.some((form) => isSecretFile(form, value))) {
    const absolute = absolutePaths(value, ['file'], folder);
    if (typeof absolute['file'] === 'string') found(absolute['file']);
    return absolute;
  }
  const inside = ([key, item]: [string, unknown]): [string, unknown] => [
    key,
    absoluteSecretFiles(item, schemaOf(schema, key), folder, found),
  ];
  return Object.fromEntries(Object.entries(value).map(inside));
}

/** Whether a value has the key `file` at any depth. Without it, the value names no secret file. */
export function mayNameFile(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return 'file' in value || Object.values(value).some(mayNameFile);
}

/** Returns the options with the paths in `names` resolved against `folder`. */
export function absolutePaths(
  options: object,
  names: readonly string[],
  folder: string,
): Record<string, unknown> {
  const absolute = ([key, value]: [string, unknown]): [string, unknown] => {
    const isPath = names.includes(key) && typeof value === 'string' && value !== '';
    return [key, isPath ? resolve(folder, value) : value];
  };
  return Object.fromEntries(Object.entries(options).map(absolute));
}

function isSecretFile(form: unknown, value: object): boolean {
  return 'file' in value && takesSecretFile(form);
}

/** Whether a schema accepts a secret as `{ file: … }`: the schema or one of its alternatives is a map whose only key is `file`. */
export function takesSecretFile(form: unknown): boolean {
  if (!isSchema(form)) return false;
  if (form.anyOf?.some(takesSecretFile)) return true;
  return Object.keys(form.properties ?? {}).join() === 'file' && form.additionalProperties === false;
}
