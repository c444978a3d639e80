import { z } from 'zod';

/** A JSON Schema, draft-07. */
export type JsonSchema = z.core.JSONSchema.BaseSchema;

/** The JSON Schema of options as they are written: before anything is filled in or converted. */
export function optionSchema(options: z.ZodType): JsonSchema {
  const { $schema: _, ...schema } = z.toJSONSchema(options, {
    target: 'draft-7',
    io: 'input',
    unrepresentable: 'any',
    // One word for a choice of forms, however the schema makes the choice.
    override: ({ jsonSchema }) => {
      if (jsonSchema.oneOf === undefined) return;
      jsonSchema.anyOf = jsonSchema.oneOf;
      delete jsonSchema.oneOf;
    },
  });
  return schema;
}

/** Returns the schema of what a map that follows `schema` holds under a key: of its first form that knows it. */
export function schemaOf(schema: JsonSchema, key: string): JsonSchema | undefined {
  return [schema, ...(schema.anyOf ?? [])]
    .filter(isSchema)
    .map((form) => form.properties?.[key] ?? form.additionalProperties)
    .find(isSchema);
}

/** Of what stands in a schema where another one may stand: `true` and `false` are schemas that say nothing. */
export function isSchema(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
