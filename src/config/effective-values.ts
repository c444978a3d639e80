import { dirname, resolve } from 'node:path';
import type { LineCounter } from 'yaml';
import { printDuration } from '../platform/text/format.ts';
import type { SinkType } from '../sinks/sink.ts';
import { type Path, printPath } from './faults/fault-list.ts';
import { takesSecretFile } from './options/absolute-paths.ts';
import { sinkSchema } from './options/config-schema.ts';
import { daemonOptions } from './options/daemon-options.ts';
import { isSchema, type JsonSchema, optionSchema } from './options/option-schema.ts';
import { DEFAULT_EVERY_MS } from './options/poll-options.ts';
import { sourceEntry } from './options/source-entry.ts';
import type { YamlTree } from './reading/yaml-tree.ts';

/** One value that is in force. */
export interface ConfigValue {
  /** `sinks.crm.url` */
  readonly path: string;
  /** As it is written in YAML, relative paths made absolute. A secret reads `[secret]`. */
  readonly value: string;
  /** `leadsync.yaml:12`, `environment LEADS_CLIENT_ID`, `file /run/secrets/x`, or `default`. */
  readonly origin: string;
}

/** A configuration that was read, and found to be without a fault. */
export interface ReadConfig {
  readonly tree: YamlTree;
  readonly lines: LineCounter;
  /** Its name in origins; its folder is that of relative paths. */
  readonly file: string;
  readonly sinkTypes: readonly SinkType[];
}

/** Every value that is in force, written or by default, in the order of the option reference. */
export function effectiveValues(read: ReadConfig): readonly ConfigValue[] {
  return walked(read).values;
}

/** Returns the paths of the secrets that stand in the file itself, written out or as the default of a variable that is not set. */
export function inlineSecrets(read: ReadConfig): readonly string[] {
  return walked(read).inlineSecrets;
}

function walked(read: ReadConfig): Walk {
  const walk = new Walk(read);
  const { sources: _, sinks: __, ...daemon } = optionSchema(daemonOptions).properties ?? {};
  for (const [name, schema] of Object.entries(daemon)) if (isSchema(schema)) walk.value(schema, [name]);
  for (const name of namesUnder(read.tree, 'sources')) {
    walk.value(optionSchema(sourceEntry), ['sources', name]);
    const poll = ['sources', name, 'poll'];
    if (!read.tree.has([...poll, 'every']) && !read.tree.has([...poll, 'cron']))
      walk.add([...poll, 'every'], printDuration(DEFAULT_EVERY_MS), 'default');
  }
  for (const name of namesUnder(read.tree, 'sinks')) {
    const type = read.sinkTypes.find((one) => one.type === read.tree.valueAt(['sinks', name, 'type']));
    if (type) walk.value(sinkSchema(type), ['sinks', name]);
  }
  return walk;
}

/** Goes through what may be written, and notes what is. */
class Walk {
  readonly values: ConfigValue[] = [];
  readonly inlineSecrets: string[] = [];
  readonly #read: ReadConfig;
  readonly #folder: string;

  constructor(read: ReadConfig) {
    this.#read = read;
    this.#folder = dirname(resolve(read.file));
  }

  add(path: Path, value: string, origin: string): void {
    this.values.push({ path: printPath(path), value, origin });
  }

  /** Notes what is in force at a path, where that schema stands. */
  value(schema: JsonSchema, path: Path): void {
    const { tree } = this.#read;
    const value = tree.valueAt(path);
    if (!tree.has(path) && schema.properties === undefined) {
      if (schema.default !== undefined) this.add(path, this.#shown(schema.default, path), 'default');
    } else if (isSecret(schema) && !isOther(value)) this.#secret(value, path);
    else if (Array.isArray(value) && (value.some(isComposite) || isSecret(itemSchema(schema))))
      for (const at of value.keys()) this.value(itemSchema(schema), [...path, at]);
    else if (schema.properties !== undefined || (isComposite(value) && !Array.isArray(value)))
      this.#entries(schema, value, path);
    else this.#plain(value, path);
  }

  /** An address that is no secret may still hold a password. */
  #plain(value: unknown, path: Path): void {
    const shown = this.#read.tree.unreadAt(path) ? NOT_SET : this.#shown(value, path);
    if (shown.includes(SECRET)) this.#noteInline(path);
    this.add(path, shown, this.#originOf(path));
  }

  #noteInline(path: Path): void {
    const { variables = [] } = this.#read.tree.replacedAt(path) ?? {};
    if (variables.length === 0) this.inlineSecrets.push(printPath(path));
  }

  #entries(schema: JsonSchema, value: unknown, path: Path): void {
    const forms = formsOf(schema);
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
      return;
    }
    const unread = this.#read.tree.unreadAt(path);
    if (!unread && needsKeeping(String(value), path)) this.#noteInline(path);
    this.add(path, unread ? SECRET : maskedSecret(String(value), path), this.#originOf(path));
  }

  #shown(value: unknown, path: Path): string {
    if (!Array.isArray(value) && this.#pathOptions(path).includes(String(path.at(-1))))
      return resolve(this.#folder, String(value));
    return masked(Array.isArray(value) ? `[${value.map(String).join(', ')}]` : String(value));
  }

  #pathOptions([section, name, ...inside]: Path): readonly string[] {
    if (section === 'exports') return ['directory'];
    if (section !== 'sinks') return name === undefined ? ['data_dir'] : [];
    const { tree, sinkTypes } = this.#read;
    const type = sinkTypes.find((one) => one.type === tree.valueAt(['sinks', String(name), 'type']));
    return inside.length === 1 ? (type?.paths ?? []) : [];
  }

  #originOf(path: Path): string {
    const { tree, lines, file } = this.#read;
    const { variables = [], whole } = tree.replacedAt(path) ?? {};
    const environment = variables.map(
      (name) => `environment ${name}${tree.unreadAt(path) ? ' (not set here)' : ''}`,
    );
    const line = `${file}:${lines.linePos(tree.offsetOf(path)).line}`;
    return whole && environment.length > 0 ? environment.join(', ') : [line, ...environment].join(', ');
  }
}

const SECRET = '[secret]';
const NOT_SET = '[not set]';

function namesUnder(tree: YamlTree, section: string): string[] {
  return Object.keys(tree.valueAt([section]) ?? {});
}

/** Also where nothing is known of what stands there. */
function isSecret(schema: JsonSchema): boolean {
  const { description: _, default: __, ...form } = schema;
  return Object.keys(form).length === 0 || takesSecretFile(schema);
}

/** Of a secret that is an address, where it leads may be seen. */
function maskedSecret(value: string, path: Path): string {
  if (value === '') return value;
  const url = /(^|_)url$/.test(String(path.at(-1))) ? URL.parse(value) : null;
  if (!url?.host) return SECRET;
  const inside = url.username + url.password + url.pathname.slice(1) + url.search + url.hash;
  return `${url.protocol}//${url.host}${inside === '' ? '' : `/${SECRET}`}`;
}

/** A part of a path that is so long was drawn, and lets in whoever knows it: Slack's webhooks have such. */
const DRAWN = /[\w-]{20,}/;

/** Whether a secret needs to be kept: of an address, only a password, a query or a path that was drawn does. */
function needsKeeping(value: string, path: Path): boolean {
  const url = /(^|_)url$/.test(String(path.at(-1))) ? URL.parse(value) : null;
  if (!url?.host) return value !== '';
  const isWeb = /^https?:$/.test(url.protocol);
  if (url.password !== '' || url.searchParams.has('password')) return true;
  return isWeb && (url.search !== '' || DRAWN.test(url.pathname));
}

/** What an address holds beside the way: a password, and the values of its query. */
function masked(value: string): string {
  return value.replace(/\/\/[^/?#\s]*@/g, `//${SECRET}@`).replace(/([?&][^=&#\s]*=)[^&#\s]+/g, `$1${SECRET}`);
}

/** A schema with the forms that it gives a choice of. */
function formsOf(schema: JsonSchema): JsonSchema[] {
  const choices = [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])];
  return [schema, ...choices.filter(isSchema).flatMap(formsOf)];
}

/** Empty where nothing is known of the items. */
function itemSchema(schema: JsonSchema): JsonSchema {
  const [only = {}, ...more] = formsOf(schema).flatMap(({ items }) => (isSchema(items) ? [items] : []));
  return more.length === 0 ? only : { anyOf: [only, ...more] };
}

/** A map or list that stands where a secret may stand as well. */
function isOther(value: unknown): boolean {
  return isComposite(value) && !('file' in value);
}

function isComposite(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
