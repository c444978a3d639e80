import { dirname, resolve } from 'node:path';
import type { LineCounter } from 'yaml';
import { printDuration } from '../platform/text/human-readable.ts';
import type { SinkType } from '../sinks/sink-type.ts';
import type { ConfigValue, SecretOption } from './contract/config.ts';
import { type Path, printPath } from './faults/fault-list.ts';
import { takesSecretFile } from './options/absolute-paths.ts';
import { sinkSchema } from './options/config-json-schema.ts';
import { daemonOptions } from './options/daemon-options.ts';
import { isSchema, type JsonSchema, optionJsonSchema } from './options/option-json-schema.ts';
import { DEFAULT_EVERY_MS } from './options/poll-options.ts';
import { sourceEntry } from './options/source-entry.ts';
import type { YamlTree } from './reading/yaml-tree.ts';

/** A configuration that was parsed without faults. */
export interface ParsedConfig {
  readonly tree: YamlTree;
  readonly lines: LineCounter;
  /** The name of the file, as origins show it. Relative paths are resolved against its folder. */
  readonly file: string;
  readonly sinkTypes: readonly SinkType[];
}

/** The values of a configuration. */
interface ConfigValues {
  /** Every value that is in effect, written or default, in the order of the option reference. */
  readonly values: readonly ConfigValue[];
  /** Every option that is set and holds a secret. */
  readonly secrets: readonly SecretOption[];
  /** The paths of the secrets that are in the file itself: written out, or as the default of an unset variable. */
  readonly inlineSecrets: readonly string[];
}

/** Returns the values that a configuration puts into effect. */
export function inEffect(read: ParsedConfig): ConfigValues {
  const collector = new ValueCollector(read);
  const { sources: _, sinks: __, ...daemon } = optionJsonSchema(daemonOptions).properties ?? {};
  for (const [name, schema] of Object.entries(daemon)) if (isSchema(schema)) collector.value(schema, [name]);
  for (const name of namesUnder(read.tree, 'sources')) {
    collector.value(optionJsonSchema(sourceEntry), ['sources', name]);
    const poll = ['sources', name, 'poll'];
    if (!read.tree.has([...poll, 'every']) && !read.tree.has([...poll, 'cron']))
      collector.add([...poll, 'every'], printDuration(DEFAULT_EVERY_MS), 'default');
  }
  for (const name of namesUnder(read.tree, 'sinks')) {
    const type = read.sinkTypes.find((one) => one.type === read.tree.valueAt(['sinks', name, 'type']));
    if (type) collector.value(sinkSchema(type, read.tree.valueAt(['sinks', name])), ['sinks', name]);
  }
  return collector;
}

/** Returns a default in a form that can be shown: an object becomes JSON. */
function flat(value: unknown): unknown {
  return isComposite(value) && !Array.isArray(value) ? JSON.stringify(value) : value;
}

/** Walks the option schemas and collects the values that are in effect. */
class ValueCollector {
  readonly values: ConfigValue[] = [];
  readonly secrets: SecretOption[] = [];
  readonly inlineSecrets: string[] = [];
  readonly #read: ParsedConfig;
  readonly #folder: string;

  constructor(read: ParsedConfig) {
    this.#read = read;
    this.#folder = dirname(resolve(read.file));
  }

  add(path: Path, value: string, origin: string): void {
    this.values.push({ path: printPath(path), value, origin });
  }

  /** Collects the values in effect at and below a path that `schema` describes. */
  value(schema: JsonSchema, path: Path): void {
    const { tree } = this.#read;
    const value = tree.valueAt(path);
    if (isTest(path)) return;
    if (!tree.has(path) && schema.properties === undefined) {
      if (schema.default !== undefined) this.add(path, this.#shown(flat(schema.default), path), 'default');
    } else if (isSecret(schema) && !isOtherComposite(value)) this.#secret(value, path);
    else if (Array.isArray(value) && (value.some(isComposite) || isSecret(itemSchema(schema))))
      for (const at of value.keys()) this.value(itemSchema(schema), [...path, at]);
    else if (schema.properties !== undefined || (isComposite(value) && !Array.isArray(value)))
      this.#entries(schema, value, path);
    else this.#plain(value, path);
  }

  /** Collects a value that is not declared secret. Masks the credentials in its URLs; a value with credentials counts as a secret. */
  #plain(value: unknown, path: Path): void {
    const shown = this.#read.tree.unreadAt(path) ? NOT_SET : this.#shown(value, path);
    if (shown.includes(SECRET)) {
      this.#addInlineSecret(path);
      this.#addSecret(path);
    }
    this.add(path, shown, this.#originOf(path));
  }

  #addInlineSecret(path: Path): void {
    const { variables = [] } = this.#read.tree.interpolationAt(path) ?? {};
    if (variables.length === 0) this.inlineSecrets.push(printPath(path));
  }

  /** Adds an option that holds a secret. `file` is the file that the option names; undefined if the secret is in the option's value. */
  #addSecret(path: Path, file?: string): void {
    const { variables = [], whole } = this.#read.tree.interpolationAt(path) ?? {};
    const own = whole && variables.length > 0 ? undefined : resolve(this.#read.file);
    this.secrets.push({ path: printPath(path), variables, file: file ?? own });
  }

  #entries(schema: JsonSchema, value: unknown, path: Path): void {
    const forms = formsOf(schema, value);
    const known = forms.flatMap(({ properties }) => Object.keys(properties ?? {}));
    const keys = new Set([...known, ...(isComposite(value) ? Object.keys(value) : [])]);
    for (const key of keys) {
      const given = forms.map((form) => form.properties?.[key] ?? form.additionalProperties).filter(isSchema);
      const [only = {}, ...more] = given;
      this.value(more.length === 0 ? only : { anyOf: given }, [...path, key]);
    }
  }

  #secret(value: unknown, path: Path): void {
    if (isComposite(value)) {
      const file = resolve(this.#folder, String(this.#read.tree.valueAt([...path, 'file'])));
      this.add(path, SECRET, `file ${file}`);
      this.#addSecret(path, file);
      return;
    }
    const unread = this.#read.tree.unreadAt(path);
    const grants = grantsAccess(String(value), path);
    if (!unread && grants) this.#addInlineSecret(path);
    if (unread || grants) this.#addSecret(path);
    this.add(path, unread ? SECRET : maskSecret(String(value), path), this.#originOf(path));
  }

  #shown(value: unknown, path: Path): string {
    if (!Array.isArray(value) && this.#pathOptions(path).includes(String(path.at(-1))))
      return resolve(this.#folder, String(value));
    return maskCredentials(Array.isArray(value) ? `[${value.map(String).join(', ')}]` : String(value));
  }

  #pathOptions([section, name, ...inside]: Path): readonly string[] {
    if (section === 'exports' || section === 'backups') return ['directory'];
    if (section !== 'sinks') return name === undefined ? ['data_dir'] : [];
    const { tree, sinkTypes } = this.#read;
    const type = sinkTypes.find((one) => one.type === tree.valueAt(['sinks', String(name), 'type']));
    return inside.length === 1 ? (type?.paths ?? []) : [];
  }

  #originOf(path: Path): string {
    const { tree, lines, file } = this.#read;
    const { variables = [], whole } = tree.interpolationAt(path) ?? {};
    const environment = variables.map(
      (name) => `environment ${name}${tree.unreadAt(path) ? ' (not set here)' : ''}`,
    );
    const line = `${file}:${lines.linePos(tree.offsetOf(path)).line}`;
    return whole && environment.length > 0 ? environment.join(', ') : [line, ...environment].join(', ');
  }
}

/** Whether a path leads to the tests of a mapping, which put nothing into effect. */
function isTest([section, , option]: Path): boolean {
  return section === 'sinks' && option === 'tests';
}

const SECRET = '[secret]';
const NOT_SET = '[not set]';

function namesUnder(tree: YamlTree, section: string): string[] {
  return Object.keys(tree.valueAt([section]) ?? {});
}

/** Whether a value with this schema is masked: the schema declares a secret, or does not describe the value. */
function isSecret(schema: JsonSchema): boolean {
  const { description: _, default: __, ...form } = schema;
  return Object.keys(form).length === 0 || takesSecretFile(schema);
}

/** Returns `[secret]` in place of a secret. Leaves the protocol and host of a secret URL visible. */
function maskSecret(value: string, path: Path): string {
  if (value === '') return value;
  const url = /(^|_)url$/.test(String(path.at(-1))) ? URL.parse(value) : null;
  if (!url?.host) return SECRET;
  const inside = url.username + url.password + url.pathname.slice(1) + url.search + url.hash;
  return `${url.protocol}//${url.host}${inside === '' ? '' : `/${SECRET}`}`;
}

/** Matches a path segment that is long enough to be random and to grant access, as in the URLs of Slack webhooks. */
const RANDOM_SEGMENT = /[\w-]{20,}/;

/** Whether a value grants access. A URL grants access only through its password, its query or a random path segment. */
function grantsAccess(value: string, path: Path): boolean {
  const url = /(^|_)url$/.test(String(path.at(-1))) ? URL.parse(value) : null;
  if (!url?.host) return value !== '';
  const isWeb = /^https?:$/.test(url.protocol);
  if (url.password !== '' || url.searchParams.has('password')) return true;
  return isWeb && (url.search !== '' || RANDOM_SEGMENT.test(url.pathname));
}

/** Returns the text with the user information and the query values of its URLs masked. */
function maskCredentials(value: string): string {
  return value.replace(/\/\/[^/?#\s]*@/g, `//${SECRET}@`).replace(/([?&][^=&#\s]*=)[^&#\s]+/g, `$1${SECRET}`);
}

/** Returns a schema and, recursively, the subschemas of its `anyOf`, `oneOf` and `allOf`. */
function alternativesOf(schema: JsonSchema): JsonSchema[] {
  const choices = [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])];
  return [schema, ...choices.filter(isSchema).flatMap(alternativesOf)];
}

/**
 * Returns the alternatives that describe a value. If alternatives differ by `type`, such as the destinations of an export, returns only the
 * one with the value's `type`, because the options and defaults of the others are not in effect.
 */
function formsOf(schema: JsonSchema, value: unknown): JsonSchema[] {
  const forms = alternativesOf(schema);
  const type = isComposite(value) && 'type' in value ? value.type : undefined;
  const typed = forms.filter((form) => typeOf(form) !== undefined);
  if (!typed.some((form) => typeOf(form) === type)) return forms;
  return forms.filter((form) => [undefined, type].includes(typeOf(form)));
}

/** Returns the only value that a schema allows for `type`; undefined if it allows several. */
function typeOf({ properties }: JsonSchema): unknown {
  const type = properties?.['type'];
  return isSchema(type) ? type.const : undefined;
}

/** Returns the schema of a list's items, or an empty schema if none is known. */
function itemSchema(schema: JsonSchema): JsonSchema {
  const [only = {}, ...more] = alternativesOf(schema).flatMap(({ items }) =>
    isSchema(items) ? [items] : [],
  );
  return more.length === 0 ? only : { anyOf: [only, ...more] };
}

/** Whether a value is a map or list other than the `{ file: … }` of a secret. */
function isOtherComposite(value: unknown): boolean {
  return isComposite(value) && !('file' in value);
}

function isComposite(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
