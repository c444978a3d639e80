import type { JsonSchema } from '../../src/config/options/option-json-schema.ts';

type Rule = (value: unknown, rule: never, schema: JsonSchema) => boolean;

/** The keywords of draft-07 that the configuration's schema uses; another one fails the test that meets it. */
const RULES: Readonly<Record<string, Rule>> = {
  type: (value, type: string | string[]) => kindsOf(value).some((kind) => [type].flat().includes(kind)),
  const: (value, only: unknown) => value === only,
  enum: (value, choice: unknown[]) => choice.includes(value),
  pattern: (value, pattern: string) => typeof value !== 'string' || new RegExp(pattern, 'u').test(value),
  minLength: (value, length: number) => typeof value !== 'string' || value.length >= length,
  maxLength: (value, length: number) => typeof value !== 'string' || value.length <= length,
  format: (value, format: string) =>
    format === 'email' || (format === 'uri' && (typeof value !== 'string' || URL.canParse(value))),
  minimum: (value, least: number) => typeof value !== 'number' || value >= least,
  maximum: (value, most: number) => typeof value !== 'number' || value <= most,
  exclusiveMinimum: (value, least: number) => typeof value !== 'number' || value > least,
  minItems: (value, count: number) => !Array.isArray(value) || value.length >= count,
  maxItems: (value, count: number) => !Array.isArray(value) || value.length <= count,
  items: (value, items: JsonSchema) => !Array.isArray(value) || value.every((item) => fits(item, items)),
  minProperties: (value, count: number) => !isMap(value) || Object.keys(value).length >= count,
  required: (value, keys: string[]) => !isMap(value) || keys.every((key) => Object.hasOwn(value, key)),
  propertyNames: (value, names: JsonSchema) =>
    !isMap(value) || Object.keys(value).every((key) => fits(key, names)),
  properties: (value, properties: Record<string, JsonSchema>) =>
    !isMap(value) ||
    Object.entries(properties).every(
      ([key, schema]) => !Object.hasOwn(value, key) || fits(value[key], schema),
    ),
  additionalProperties: (value, rest: JsonSchema | false, { properties = {} }) =>
    !isMap(value) ||
    Object.keys(value).every(
      (key) => Object.hasOwn(properties, key) || (rest !== false && fits(value[key], rest)),
    ),
  anyOf: (value, schemas: JsonSchema[]) => schemas.some((schema) => fits(value, schema)),
  allOf: (value, schemas: JsonSchema[]) => schemas.every((schema) => fits(value, schema)),
  if: (value, condition: JsonSchema, { then: consequence }) =>
    !fits(value, condition) || fits(value, consequence as JsonSchema),
  // Said where `if` is, or only told to people.
  ...Object.fromEntries(
    ['then', '$schema', 'title', 'description', 'default'].map((word) => [word, () => true]),
  ),
};

/** Whether a value fits a JSON Schema. @throws Error for a keyword that is not known here */
export function fits(value: unknown, schema: JsonSchema): boolean {
  return Object.entries(schema).every(([word, rule]) => {
    const check = RULES[word];
    if (check === undefined) throw new Error(`this test does not know the JSON Schema keyword ${word}`);
    return check(value, rule as never, schema);
  });
}

function kindsOf(value: unknown): string[] {
  if (value === null) return ['null'];
  if (Array.isArray(value)) return ['array'];
  return Number.isInteger(value) ? ['integer', 'number'] : [typeof value];
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
