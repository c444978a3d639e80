import { mappingOptions } from '../../mapping/options.ts';
import { defaultsOf, type SinkType } from '../../sinks/sink-type.ts';
import { daemonOptions } from './daemon-options.ts';
import { isSchema, type JsonSchema, optionJsonSchema } from './option-json-schema.ts';
import { NAME } from './option-limits.ts';
import { sinkOptions } from './sink-options.ts';
import { sourceEntry } from './source-entry.ts';

/** Returns the JSON Schema of the configuration (draft-07), for editors and for programs that generate configurations. */
export function configSchema(sinkTypes: readonly SinkType[]): JsonSchema {
  const { properties, ...daemon } = optionJsonSchema(daemonOptions);
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'leadsync',
    ...daemon,
    properties: {
      ...mapEach(properties ?? {}, (property) => acceptVariables(property)),
      sources: {
        ...named(acceptVariables(optionJsonSchema(sourceEntry)), describe(properties?.['sources'])),
        minProperties: 1,
      },
      sinks: named(anySink(sinkTypes), describe(properties?.['sinks'])),
    },
  };
}

/**
 * Returns the schema of one type's sinks: the type's own options, and the common options with the type's defaults. `written` has the options
 * of a sink, on which some defaults may depend.
 */
export function sinkSchema(type: SinkType, written?: unknown): JsonSchema {
  const common = optionJsonSchema(sinkOptions({ ...type, defaults: defaultsOf(type, written) }));
  const own = optionJsonSchema(type.options.strict());
  const kind = { const: type.type, description: type.summary };
  return {
    ...own,
    properties: { type: kind, ...own.properties, ...common.properties },
    required: ['type', ...(own.required ?? []), ...(common.required ?? [])],
  };
}

/** Returns the schema of a map from names to entries. */
function named(entry: JsonSchema, more: JsonSchema): JsonSchema {
  return { type: 'object', ...more, propertyNames: { pattern: NAME.source }, additionalProperties: entry };
}

/** Returns a schema with which an editor first offers the types, then the options of the chosen type. */
function anySink(sinkTypes: readonly SinkType[]): JsonSchema {
  const types = sinkTypes.map(({ type, summary }) => ({ const: type, description: summary }));
  return {
    type: 'object',
    properties: { type: { description: 'What kind of destination this is.', anyOf: types } },
    required: ['type'],
    allOf: sinkTypes.map((type) => ({
      if: { properties: { type: { const: type.type } }, required: ['type'] },
      // biome-ignore lint/suspicious/noThenProperty: `then` is a keyword of JSON Schema
      then: acceptVariables(sinkSchema(type), [
        'type',
        ...Object.keys({ ...mappingOptions, ...type.perLead }),
      ]),
    })),
  };
}

function describe(schema: unknown): JsonSchema {
  const description = isSchema(schema) ? schema.description : undefined;
  return description === undefined ? {} : { description };
}

/** The schema of a string with `${…}`, which may stand in for a value that is not free text: a number, an enum value or a string with a pattern. */
const VARIABLE: JsonSchema = { type: 'string', pattern: '\\$\\{' };

/** Returns a schema that also accepts `${…}` wherever leadsync replaces it, except in the properties named in `except`. */
function acceptVariables(schema: JsonSchema, except: readonly string[] = []): JsonSchema {
  const inside: JsonSchema = { ...schema };
  if (schema.properties) {
    inside.properties = mapEach(schema.properties, (property, name) =>
      except.includes(name) ? property : acceptVariables(property),
    );
  }
  if (isSchema(schema.items)) inside.items = acceptVariables(schema.items);
  if (isSchema(schema.additionalProperties)) {
    inside.additionalProperties = acceptVariables(schema.additionalProperties);
  }
  if (!needsForm(schema)) return inside;
  const { description, default: fallback, ...form } = inside;
  return {
    ...(description === undefined ? {} : { description }),
    ...(fallback === undefined ? {} : { default: fallback }),
    anyOf: [form, VARIABLE],
  };
}

/** Whether a schema accepts less than any string, so that it may reject a `${…}`. */
function needsForm(schema: JsonSchema): boolean {
  if (schema.anyOf !== undefined) return schema.anyOf.every((form) => needsForm(isSchema(form) ? form : {}));
  if (schema.type === 'object' || schema.type === 'array') return false;
  const { enum: choice, const: only, pattern, format, maxLength } = schema;
  return (
    schema.type !== 'string' || [choice, only, pattern, format, maxLength].some((rule) => rule !== undefined)
  );
}

function mapEach(
  properties: Readonly<Record<string, unknown>>,
  change: (schema: JsonSchema, name: string) => JsonSchema,
): Record<string, JsonSchema> {
  const each = ([name, schema]: [string, unknown]): [string, JsonSchema] => [
    name,
    change(isSchema(schema) ? schema : {}, name),
  ];
  return Object.fromEntries(Object.entries(properties).map(each));
}
