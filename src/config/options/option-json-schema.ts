import { z } from 'zod';

/** A JSON Schema, draft-07. */
export type JsonSchema = z.core.JSONSchema.BaseSchema;

/** Returns the JSON Schema of options as written in YAML, before defaults and conversions. */
export function optionJsonSchema(options: z.ZodType): JsonSchema {
  const { $schema: _, ...schema } = z.toJSONSchema(options, {
    target: 'draft-7',
    io: 'input',
    unrepresentable: 'any',
    // Replaces `oneOf` with `anyOf`, so that callers have to handle only one keyword for alternatives.
    override: ({ jsonSchema }) => {
      if (jsonSchema.oneOf === undefined) return;
      jsonSchema.anyOf = jsonSchema.oneOf;
      delete jsonSchema.oneOf;
    },
  });
  return schema;
}

/** Returns the schema of the value under `key`, from the first alternative of `schema` that describes this key; undefined if none does. */
export function schemaOf(schema: JsonSchema, key: string): JsonSchema | undefined {
  return [schema, ...(schema.anyOf ?? [])]
    .filter(isSchema)
    .map((form) => form.properties?.[key] ?? form.additionalProperties)
    .find(isSchema);
}

/** Whether a nested schema is an object. `true` and `false` are valid schemas too, but hold no information. */
export function isSchema(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
