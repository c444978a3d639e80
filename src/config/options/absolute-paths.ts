import { resolve } from 'node:path';
import { isSchema, schemaOf } from './option-schema.ts';

/**
 * The value with the path in each `{ file: … }` of a secret taken from the configuration's folder. The schema tells
 * such a map from any other that happens to have the key `file`. Each that is found is told.
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

/** Whether a value has the key `file` anywhere: without it there is no secret's file to find. */
export function mayNameFile(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return 'file' in value || Object.values(value).some(mayNameFile);
}

/** The options with the named ones made absolute, from the configuration's folder. */
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

/**
 * Whether a schema is that of a `secret()`: a text, or a map of which `file` is the only key; either may be in a choice of
 * its own.
 */
export function takesSecretFile(form: unknown): boolean {
  if (!isSchema(form)) return false;
  if (form.anyOf?.some(takesSecretFile)) return true;
  return Object.keys(form.properties ?? {}).join() === 'file' && form.additionalProperties === false;
}
