/** A value that a field of a mapping has for one lead. Whole numbers are exact. */
export type MappedValue =
  | string
  | number
  | bigint
  | boolean
  | null
  | readonly MappedValue[]
  | { readonly [key: string]: MappedValue };

/** The fields that a sink's mapping computed for a lead, by name, in the order of the configuration. */
export type MappedFields = ReadonlyMap<string, MappedValue>;

/** The type of a field's values, known before any lead is mapped: `json` for lists and maps; `text` also for values whose type can vary. */
export type MappedType = 'text' | 'bigint' | 'double' | 'boolean' | 'time' | 'json';

/** A field as a column of a file or table. */
export interface MappedColumn {
  readonly name: string;
  readonly type: MappedType;
  /** The value that the field has for every lead; absent if an expression computes it. */
  readonly constant?: MappedValue;
}

/** Returns a value as the cell of a text column: empty for null, and JSON for a list or map. */
export function mappedText(value: MappedValue | undefined): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : mappedJson(value);
}

/** Returns a value as JSON. Whole numbers keep every digit. */
export function mappedJson(value: MappedValue): string {
  if (typeof value === 'bigint') return String(value);
  if (Array.isArray(value)) return `[${value.map(mappedJson).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const entries = Object.entries(value).map(([key, of]) => `${JSON.stringify(key)}:${mappedJson(of)}`);
  return `{${entries.join(',')}}`;
}

/** Returns fields as one JSON object. A dot in a name leads into an object: `a.b` becomes `{"a":{"b":…}}`. */
export function nestedJson(fields: MappedFields): string {
  const parts = [...fields].map(([name, value]) => [name.split('.'), mappedJson(value)] as const);
  return objectOf(parts);
}

function objectOf(parts: readonly (readonly [path: readonly string[], json: string])[]): string {
  const byKey = Map.groupBy(parts, ([[key = '']]) => key);
  const entries = [...byKey].map(([key, inside]) => {
    const [first] = inside;
    const isLeaf = first?.[0].length === 1;
    const json = isLeaf ? first[1] : objectOf(inside.map(([[, ...rest], text]) => [rest, text] as const));
    return `${JSON.stringify(key)}:${json}`;
  });
  return `{${entries.join(',')}}`;
}
