import { z } from 'zod';
import { builtOnce } from '../platform/options/built-once.ts';
import { isRegion } from './functions/phone.ts';
import { type FieldRule, type Lookups, MAX_EXPRESSION } from './mapping-definition.ts';

/** Maximum number of fields of a sink. */
const MAX_FIELDS = 200;
/** A name, or a path of names that leads into an object: `contact.phone`. */
const FIELD_NAME = /^(?!_leadsync_)[\p{L}_$][\p{L}\p{N}_$ -]{0,99}(\.[\p{L}_$][\p{L}\p{N}_$ -]{0,99}){0,9}$/u;

const text = (what: string) =>
  z.string({
    error: `must be ${what}; put a number or true in quotes, or write { value: … } for a constant`,
  });

const expression = (what = 'an expression, as text') =>
  text(what).min(1, 'must not be empty').max(MAX_EXPRESSION, `may have at most ${MAX_EXPRESSION} characters`);

/** Returns a schema for text that must not contain variables, because the ledger stores the text and messages show it. */
const plainText = () =>
  z
    .string()
    .refine(
      (written) => !/\$\{/.test(written),
      'cannot contain a variable (${…}), because its value would be stored and shown in messages',
    );

/** Whether a number cannot have been rounded to another whole number. The YAML parser rounds whole numbers beyond 2^53. Fractions always pass. */
function isExact(number: number): boolean {
  return !Number.isInteger(number) || Number.isSafeInteger(number);
}

const INEXACT = 'has more digits than leadsync can keep in a number';

/** Returns the schema of a constant in place of an expression. */
const constant = builtOnce(() => {
  const exactNumber = z
    .number()
    .refine(isExact, `${INEXACT}; put it in quotes, or write { from: "…" } for a whole number`);
  const scalar = z.union([plainText(), exactNumber, z.boolean(), z.null()], {
    error: 'must be text, a number, true, false or null',
  });
  return z.strictObject({ value: scalar.describe('A constant.') });
});

/** Returns the schemas of the options of an expression with rules. */
const rules = builtOnce(() => ({
  from: expression().describe('The expression.'),
  max: z
    .int()
    .min(1)
    .max(1_000_000)
    .optional()
    .describe('Maximum number of characters. Longer text is truncated.'),
  invalid: z
    .enum(['refuse', 'drop'])
    .default('refuse')
    .describe(
      'What to do if the expression fails for a lead: `refuse` the lead, or `drop` the value, which is then null.',
    ),
}));

/** Returns the schema of an expression without rules. */
const plainExpression = builtOnce(() =>
  expression().transform((from): FieldRule => ({ from, once: false, max: undefined, invalid: 'refuse' })),
);

/** Returns the schema of a field. */
const field = builtOnce(() =>
  z.union(
    [
      plainExpression(),
      constant(),
      z.strictObject({
        ...rules(),
        once: z.boolean().default(false).describe('Whether the field is sent with the event `created` only.'),
      }),
    ],
    { error: wrongRule('must be an expression, { value: … } or { from: …, once: …, max: …, invalid: … }') },
  ),
);

/** Returns the message for a value that is not a rule. For a list, the message says how to write it as an expression. */
function wrongRule(message: string) {
  return ({ input }: { readonly input?: unknown }) => {
    const value = typeof input === 'object' && input !== null && 'value' in input ? input.value : input;
    return Array.isArray(value)
      ? `${message}; write several values as one expression: '["one", "other"]'`
      : message;
  };
}

/** Returns the schema of a sink option whose value may depend on the lead: an expression, or a constant. */
export function perLeadOption(description: string) {
  return z
    .union(
      [
        plainExpression(),
        constant(),
        z.strictObject(rules()).transform((rule): FieldRule => ({ ...rule, once: false })),
      ],
      { error: wrongRule('must be an expression, { value: … } or { from: …, max: …, invalid: … }') },
    )
    .describe(description);
}

/** Returns the paths of the numbers in a YAML value that may have been rounded: see `isExact`. */
function inexactIn(value: unknown, path: readonly PropertyKey[] = []): (readonly PropertyKey[])[] {
  if (typeof value === 'number') return isExact(value) ? [] : [path];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inside]) =>
    inexactIn(inside, [...path, Array.isArray(value) ? Number(key) : key]),
  );
}

/** Returns a schema for values by name, in which no number may have been rounded: see `isExact`. */
const exactValues = () =>
  z.record(z.string(), z.unknown()).superRefine((values, context) => {
    for (const path of inexactIn(values))
      context.addIssue({ code: 'custom', message: `${INEXACT}; put it in quotes`, path: [...path] });
  });

const sampleText = (what: string) => z.string().optional().describe(`${what}.`);

const sample = builtOnce(() =>
  z.strictObject({
    id: z.int().min(0).optional().describe('The id of the lead.'),
    source: sampleText('The name of the source'),
    service_name: sampleText('The name of the service'),
    service_slug: sampleText('The slug of the service'),
    created_at: sampleText('The creation time of the lead'),
    client_name: sampleText('The name of the client'),
    client_email: sampleText('The email address of the client'),
    client_phone_number: sampleText('The phone number of the client'),
    address: z.string().nullable().optional().describe('The friendly address; null for a lead without one.'),
    all_details_one_liner: sampleText('The summary of the lead'),
    answers: z
      .record(z.string(), z.union([z.string(), z.array(z.string())]))
      .optional()
      .describe(
        'The answers, by slug, in place of those of the sample lead. A list gives several answers with the same slug.',
      ),
    raw: exactValues().optional().describe("Fields that the service's API description does not define."),
  }),
);

/** What a test changes in the sample lead. */
export type SampleChanges = z.output<ReturnType<typeof sample>>;

const test = builtOnce(() =>
  z
    .strictObject({
      name: z.string().min(1).max(200).describe('What the test shows.'),
      lead: sample().default({}).describe('What differs from the sample lead.'),
      event: z.enum(['created', 'updated']).default('created').describe('The event of the delivery.'),
      gives: exactValues()
        .optional()
        .describe('The fields to expect. Fields that are not named here may have any value.'),
      left_out: z.boolean().optional().describe('`true`: the lead does not go to this sink.'),
    })
    .refine(({ gives, left_out }) => !(gives !== undefined && left_out === true), {
      error: 'expects fields of a lead that is left out: remove gives or left_out',
    })
    .refine(({ gives, left_out }) => gives !== undefined || left_out !== undefined, {
      error: 'expects nothing: add gives or left_out',
    }),
);

/** A test of a mapping. */
export type MappingTest = z.output<ReturnType<typeof test>>;

/** The options of a sink that define which leads it gets, and in which form. */
export const mappingOptions = {
  where: expression('an expression that is true or false, as text')
    .optional()
    .describe(
      'Which leads go to this sink: an expression that is true for them. The others are recorded as skipped.',
    ),
  fields: z
    .record(
      z
        .string()
        // Not as a pattern in the JSON Schema: not every editor knows \p{L}.
        .refine(
          (name) => FIELD_NAME.test(name),
          'is not a field name: use letters, digits, _, - and blanks, and dots between names, and do not begin with _leadsync_',
        ),
      z.lazy(field),
    )
    .refine((fields) => Object.keys(fields).length > 0, 'must not be empty')
    .refine((fields) => Object.keys(fields).length <= MAX_FIELDS, `may have at most ${MAX_FIELDS} fields`)
    .superRefine((fields, context) => {
      for (const name of ['where', 'fields', 'tests'].filter((option) => Object.hasOwn(fields, option)))
        context.addIssue({
          code: 'custom',
          message: `is an option of the sink, not a field: write it above or below \`fields\`, in the same column`,
          path: [name],
        });
      for (const [name, outer] of prefixesOf(Object.keys(fields)))
        context.addIssue({
          code: 'custom',
          message: `cannot be inside ${outer}, which is a field of its own`,
          path: [name],
        });
    })
    .optional()
    .describe(
      'The fields that the sink gets instead of the lead as received. An expression computes the value of each field.',
    ),
  region: z
    .string()
    .refine(
      (region) => /^[A-Z]{2}$/.test(region) && isRegion(region),
      'must be a country code in capital letters (ISO 3166), such as AU, or GB for the United Kingdom; the region of a bucket is `bucket_region`',
    )
    .optional()
    .describe('The country of phone numbers without a country code, for the function `phone`: `AU`.'),
  tests: z
    .array(z.lazy(test))
    .max(200)
    .optional()
    .describe(
      'Tests of `where` and `fields`. `validate` runs them, and leadsync does not apply a configuration with a failing test.',
    ),
} as const;

/** Returns each dotted name that has another field as its prefix, with that field. */
function prefixesOf(names: readonly string[]): [name: string, outer: string][] {
  const all = new Set(names);
  return names.flatMap((name) => {
    const parts = name.split('.');
    const outer = parts.slice(1).map((_, index) => parts.slice(0, index + 1).join('.'));
    return outer.filter((one) => all.has(one)).map((one): [string, string] => [name, one]);
  });
}

/** The tables for the function `lookup`. */
export const lookupsOption = z
  .record(
    z.string().regex(/^[a-z][a-z0-9_-]{0,62}$/, 'must consist of a-z, 0-9, _ and -'),
    z.record(z.string(), plainText()),
  )
  .default({} satisfies Lookups)
  .describe('Tables for the function `lookup`, by name. Each table maps keys to values.');
