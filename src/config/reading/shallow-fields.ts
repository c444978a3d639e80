import { isMap } from './purpose.ts';

/** Keys that belong to the key without a value above them, but begin in the same column as it. */
interface Shallow {
  /** The path of the key without a value, from the sink on: `['fields']` or `['fields', 'email']`. */
  readonly path: readonly string[];
  readonly keys: readonly string[];
}

/** The keys of the long form of a field. */
const LONG_FORM = ['value', 'from', 'once', 'max', 'invalid'];

/** Returns the fields of a sink, or the rules of a field, that are not indented deeper than their key; undefined if there are none. */
export function shallowFields(
  sink: Readonly<Record<string, unknown>>,
  isOption: (key: string) => boolean,
): Shallow | undefined {
  const { fields } = sink;
  if (fields === null) {
    const keys = Object.keys(sink).filter((key) => !isOption(key));
    return keys.length > 0 ? { path: ['fields'], keys } : undefined;
  }
  if (!isMap(fields)) return undefined;
  const names = Object.keys(fields);
  for (const [index, name] of names.entries()) {
    const below = names.slice(index + 1);
    const end = below.findIndex((key) => !LONG_FORM.includes(key));
    const keys = end < 0 ? below : below.slice(0, end);
    if (fields[name] === null && keys.length > 0) return { path: ['fields', name], keys };
  }
  return undefined;
}
