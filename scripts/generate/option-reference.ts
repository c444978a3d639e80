import type { z } from 'zod';
import { destinationTypes } from '../../src/alerts/registry.ts';
import { sinkSchema } from '../../src/config/options/config-json-schema.ts';
import { daemonOptions } from '../../src/config/options/daemon-options.ts';
import { type JsonSchema, optionJsonSchema } from '../../src/config/options/option-json-schema.ts';
import { ANY_TYPE, sinkOptions } from '../../src/config/options/sink-options.ts';
import { sourceEntry } from '../../src/config/options/source-entry.ts';
import { backupTypes, exportTypes } from '../../src/exports/contract/options.ts';
import { duration, secret, size } from '../../src/platform/options/option-types.ts';
import type { SinkType } from '../../src/sinks/sink-type.ts';

/** Returns `docs/configuration.md`: name, value, default and meaning of every option, from the schemas. */
export function optionReference(sinkTypes: readonly SinkType[]): string {
  const common = Object.keys(sinkOptions(ANY_TYPE).shape);
  const sections = [
    INTRODUCTION,
    '## The daemon\n\nAt the top level of the file.',
    table(optionJsonSchema(daemonOptions)),
    '## A source\n\nList sources under `sources`, each under a name of your choice. The name identifies the source in log lines, metrics and tables.',
    table(optionJsonSchema(sourceEntry)),
    '## A sink\n\nList sinks under `sinks`, each under a name of your choice. `type` sets the kind of destination, and with it the options.',
    ...sinkTypes.flatMap((type) => sinkSection(type, common)),
    '## An export\n\nList exports under `exports`, each under a name of your choice. The names of its files begin with that name. See [exporting.md](exporting.md).',
    ...exportTypes().flatMap(({ type, summary, options }) => [
      `### Exports: \`type: ${type}\`\n\n${summary}`,
      table(optionJsonSchema(options)),
    ]),
    '## A backup\n\nList backups under `backups`, each under a name of your choice. The names of its files begin with that name. A backup and an export cannot have the same name. See [backup.md](backup.md).',
    ...backupTypes().flatMap(({ type, summary, options }) => [
      `### Backups: \`type: ${type}\`\n\n${summary}`,
      table(optionJsonSchema(options)),
    ]),
    '## A destination of alerts\n\nList destinations of alerts under `alerts.to`, each under a name of your choice. `leadsync test-alert` sends a test to each.',
    ...destinationTypes.flatMap(({ type, summary, options }) => [
      `### Alerts: \`type: ${type}\`\n\n${summary}`,
      table(optionJsonSchema(options)),
    ]),
  ];
  return `${sections.join('\n\n')}\n`;
}

function sinkSection(type: SinkType, common: readonly string[]): string[] {
  const schema = sinkSchema(type);
  const options = Object.entries(schema.properties ?? {}).filter(([name]) => name !== 'type');
  const [shared, own] = [true, false].map((isShared) => ({
    ...schema,
    properties: Object.fromEntries(options.filter(([name]) => common.includes(name) === isShared)),
  }));
  return [
    `### \`type: ${type.type}\`\n\n${type.summary}`,
    table(own ?? {}),
    `Options that every sink has, with the defaults of \`${type.type}\`:`,
    table(shared ?? {}),
  ];
}

function table(schema: JsonSchema): string {
  const head = ['| option | value | default | meaning |', '| --- | --- | --- | --- |'];
  return [...head, ...rows(schema, '')].join('\n');
}

function rows(schema: JsonSchema, prefix: string): string[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
    if (typeof property === 'boolean') return [];
    const required = schema.required?.includes(name) === true;
    const isGroup = property.properties !== undefined;
    const standard = isGroup && !required ? '' : printDefault(property.default, required);
    const cells = [`\`${prefix}${name}\``, printValue(property), standard, property.description ?? ''];
    return [
      `| ${cells.map(escapeCell).join(' | ')} |`,
      ...(isGroup ? rows(property, `${prefix}${name}.`) : []),
    ];
  });
}

function printDefault(value: unknown, required: boolean): string {
  if (required) return '**required**';
  if (value === undefined) return '';
  if (value === '') return 'empty';
  if (Array.isArray(value)) return `\`[${value.join(', ')}]\``;
  return typeof value === 'object' ? '' : `\`${String(value)}\``;
}

const [DURATION, SIZE] = [optionJsonSchema(duration()).pattern, optionJsonSchema(size()).pattern];
const SECRET = JSON.stringify(optionJsonSchema(secret()).anyOf);

/** Returns the values that an option accepts, in a few words. */
function printValue(schema: JsonSchema): string {
  if (schema.enum !== undefined) return schema.enum.map((choice) => `\`${String(choice)}\``).join(', ');
  if (schema.const !== undefined) return schema.const === '' ? 'empty' : `\`${String(schema.const)}\``;
  if (schema.anyOf !== undefined) {
    if (JSON.stringify(schema.anyOf) === SECRET) return 'secret';
    return schema.anyOf.map((form) => printValue(asSchema(form))).join(' or ');
  }
  switch (schema.type) {
    case 'string':
      return { [DURATION ?? '']: 'duration', [SIZE ?? '']: 'size' }[schema.pattern ?? 'none'] ?? 'text';
    case 'boolean':
      return '`true`, `false`';
    case 'integer':
      return `whole number${limits(schema)}`;
    case 'number':
      return `number${limits(schema)}`;
    case 'array':
      return `list of ${Array.isArray(schema.items) ? 'values' : printValue(asSchema(schema.items))}`;
    default:
      return 'map';
  }
}

function limits({ minimum, maximum }: JsonSchema): string {
  const bounded = maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER;
  if (minimum !== undefined && bounded) return `, ${minimum} to ${maximum}`;
  if (bounded) return `, ${maximum} or less`;
  return minimum === undefined || minimum <= Number.MIN_SAFE_INTEGER ? '' : `, ${minimum} or more`;
}

function asSchema(schema: z.core.JSONSchema._JSONSchema | undefined): JsonSchema {
  return typeof schema === 'object' ? schema : {};
}

/** Escapes bars, because a bar ends the cell of a table. */
function escapeCell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ');
}

const INTRODUCTION = `# Configuration

<!-- Generated by \`npm run generate\` from the option schemas. Do not edit. -->

\`leadsync\` reads one YAML file: \`leadsync.yaml\` in the current folder, or the one that \`-c\` or \`LEADSYNC_CONFIG\` names.
\`leadsync init\` creates one, \`leadsync validate\` reports every fault in it as
\`file:line:column: path: message; hint\`, and \`leadsync schema\` prints its JSON Schema. An editor with
the YAML language server completes and checks the file as you type, with this as its first line:

\`\`\`yaml
# yaml-language-server: $schema=./leadsync.schema.json
\`\`\`

**Values**

- A *duration* is \`500ms\`, \`30s\`, \`5m\`, \`2h\` or \`1d\`. A *size* is \`64kb\`, \`8mb\` or \`2gb\`.
- A *secret* is text, or \`{ file: /run/secrets/x }\` for the content of that file, without its final line break.
  leadsync never prints or logs a secret, not even in messages about an invalid configuration.
- Relative paths are resolved against the folder of the configuration file, whatever the current folder is.
- Names of sources, sinks, exports and backups have 1 to 63 of \`a-z\`, \`0-9\`, \`_\` and \`-\`, and begin with a letter or a digit.

**Environment variables**

| written | becomes |
| --- | --- |
| \`\${NAME}\` | the variable; an error if it is not set |
| \`\${NAME:-default}\` | the variable; the default if it is not set or empty |
| \`\${NAME:?message}\` | the variable; an error with this message if it is not set or empty |
| \`$$\` | a dollar sign; a single \`$\` is an error |

They are replaced after the file is parsed, in values and never in keys, so no variable can change the structure. Inserted
text is not replaced again. A value that is a single \`\${…}\` is read as a number or a boolean where the option expects one: \`concurrency: \${CONCURRENCY:-10}\`. Inside \`{ }\` and \`[ ]\`, write it in quotes: \`{ file: "\${SECRET_FILE}" }\`. \`leadsync\` reads
no \`.env\` file: \`set -a; . ./.env; set +a\` loads one in a shell, \`EnvironmentFile=\` in a systemd unit.

**YAML** is read as version 1.2, so \`yes\`, \`no\`, \`on\` and \`off\` are text. Unknown and repeated keys, unknown tags, merge keys
(\`<<\`), keys that are not text, keys without a value and a second document are errors. Anchors and aliases work for whole values.`;
