import {
  type Alias,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  type Node,
  type Pair,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml';
import { mappingOptions } from '../../mapping/options.ts';
import type { SinkType } from '../../sinks/sink-type.ts';
import { COMMA_ENDS, isCut, templateFault, WHOLE } from '../faults/explain-yaml.ts';
import type { FaultList, Path } from '../faults/fault-list.ts';
import { type Environment, interpolate } from './interpolate.ts';
import { offsetInScalar } from './offset-in-scalar.ts';
import { isNeeded, type Purpose } from './purpose.ts';

const MAX_NODES = 10_000;
const MAX_DEPTH = 50;
const CORE_TAGS = new Set(
  ['str', 'int', 'float', 'bool', 'null', 'map', 'seq'].map((name) => `tag:yaml.org,2002:${name}`),
);

/** A string with `${…}` in it, before and after interpolation. */
export interface Interpolation {
  /** The string as written in the file. */
  readonly source: string;
  readonly text: string;
  /** Names of the variables that were not replaced by a default, in order. */
  readonly variables: readonly string[];
  /** Whether the source is a single `${…}`. */
  readonly whole: boolean;
}

interface Position {
  /** Offsets in the text. */
  readonly key: number;
  readonly value: number;
  /** The offset just after the value. */
  readonly end: number;
  readonly replaced: Interpolation | undefined;
}

/** What reading a document depends on. */
interface TreeParts {
  readonly env: Environment;
  readonly purpose: Purpose;
  readonly sinkTypes: readonly SinkType[];
}

/** The values of a configuration as plain maps, lists and scalars, with the position of each. */
export class YamlTree {
  readonly root: unknown;
  readonly #text: string;
  readonly #positions = new Map<string, Position>();
  /** Values that could not be read. Their faults, if any, are already in the list. */
  readonly #unread = new Set<string>();
  readonly #anchors = new Map<string, Node>();
  readonly #faults: FaultList;
  readonly #env: Environment;
  readonly #purpose: Purpose;
  readonly #sinkTypes: readonly SinkType[];
  /** The value of `type` of each sink, by the sink's name. */
  readonly #typeOf = new Map<string, unknown>();
  #nodes = 0;

  /**
   * Reads the whole document and replaces `${…}` in strings, except in expressions. Adds a fault for each value that cannot be read. If a
   * variable is unset in a value that the purpose does not need, marks the value as unread without adding a fault. `text` is the text from
   * which the document was parsed.
   */
  constructor(
    text: string,
    document: Document.Parsed,
    faults: FaultList,
    { env, purpose, sinkTypes }: TreeParts,
  ) {
    this.#text = text;
    this.#purpose = purpose;
    this.#sinkTypes = sinkTypes;
    this.#faults = faults;
    this.#env = env;
    this.root = this.#read(document.contents, [], document.contents?.range[0] ?? 0, []);
  }

  has(path: Path): boolean {
    return this.#positions.has(keyOf(path));
  }

  /** Returns the offset of a value; for a missing value, that of the nearest key above it. */
  offsetOf(path: Path): number {
    const position = this.#positions.get(keyOf(path));
    if (position !== undefined) return position.value;
    return path.length === 0 ? 0 : this.keyOffsetOf(path.slice(0, -1));
  }

  /** Returns the offset, in the file, of a character in the text at this path. */
  offsetInText(path: Path, index: number): number {
    const position = this.#positions.get(keyOf(path));
    const text = this.valueAt(path);
    if (position === undefined || typeof text !== 'string') return this.offsetOf(path);
    return position.value + offsetInScalar(text, this.#text.slice(position.value, position.end), index);
  }

  /** Whether the key exists, but has no value after it. */
  isBlankAt(path: Path): boolean {
    const position = this.#positions.get(keyOf(path));
    return position !== undefined && this.#text.slice(position.value, position.end).trim() === '';
  }

  /** Whether YAML reads what follows the value at this path as a comment. */
  isFollowedByComment(path: Path, comment = /^[ \t]+#/): boolean {
    const position = this.#positions.get(keyOf(path));
    return position !== undefined && comment.test(this.#text.slice(position.end));
  }

  keyOffsetOf(path: Path): number {
    const position = this.#positions.get(keyOf(path));
    if (position !== undefined) return position.key;
    return path.length === 0 ? 0 : this.keyOffsetOf(path.slice(0, -1));
  }

  valueAt(path: Path): unknown {
    return valueAt(this.root, path);
  }

  /** Returns the interpolation of the text at this path; undefined if the text has no `${…}`. */
  interpolationAt(path: Path): Interpolation | undefined {
    return this.#positions.get(keyOf(path))?.replaced;
  }

  /** Whether the value at this path, or one that contains it, could not be read. */
  unreadAt(path: Path): boolean {
    if (this.#unread.has('')) return true;
    return path.some((_, index) => this.#unread.has(keyOf(path.slice(0, index + 1))));
  }

  #read(node: Node | null, path: Path, key: number, inside: readonly Node[]): unknown {
    const [offset = key, end = offset] = node?.range ?? [];
    this.#positions.set(keyOf(path), { key, value: offset, end, replaced: undefined });
    if (++this.#nodes > MAX_NODES || inside.length > MAX_DEPTH) return this.#tooMuch(path, offset);
    if (isAlias(node)) return this.#readAlias(node, path, key, inside);
    if (node !== null) this.#noteAnchor(node, path, offset);
    if (node?.tag !== undefined && !CORE_TAGS.has(node.tag)) return this.#unknownTag(node.tag, path, offset);
    if (isMap(node)) return this.#readMap(node, path, [...inside, node]);
    if (isSeq(node)) return this.#readList(node, path, [...inside, node]);
    return isScalar(node) ? this.#readScalar(node.value, path, { key, value: offset, end }) : null;
  }

  #readMap(map: YAMLMap, path: Path, inside: readonly Node[]): unknown {
    const [section, sink, ...below] = path;
    if (section === 'sinks' && sink !== undefined && below.length === 0)
      this.#typeOf.set(String(sink), map.get('type'));
    const entries = new Map<string, unknown>();
    for (const pair of map.items) {
      const found = this.#readKey(pair, path);
      if (found === undefined) continue;
      const { key, offset } = found;
      const above = [...path, [...entries.keys()].at(-1) ?? ''];
      if (map.flow && pair.value === null && this.#isCutExpression(above)) {
        this.#unreadable(above, this.offsetOf(above), COMMA_ENDS, WHOLE);
        continue;
      }
      if (entries.has(key)) this.#repeatedKey(path, key, offset);
      else entries.set(key, this.#read(pair.value as Node | null, [...path, key], offset, inside));
    }
    return Object.fromEntries(entries);
  }

  #isCutExpression(path: Path): boolean {
    const { value, end } = this.#positions.get(keyOf(path)) ?? { value: 0, end: 0 };
    return this.#isExpression(path) && isCut(this.#text.slice(value, end));
  }

  #readKey(pair: Pair, path: Path): { key: string; offset: number } | undefined {
    const offset = (pair.key as Node | null)?.range?.[0] ?? this.offsetOf(path);
    if (isMap(pair.key) && this.#isExpression(path)) {
      // YAML reads {{…}} as a map whose key is a map.
      const { message, hint } = templateFault('{{');
      this.#unreadable(path, this.offsetOf(path), message, hint);
    } else if (!isScalar(pair.key) || typeof pair.key.value !== 'string') {
      this.#faults.add(offset, path, 'this key is not text', 'put it in quotes');
    } else if (pair.key.value === '<<') {
      const hint = 'write the entries out, or use an alias for a whole value';
      this.#faults.add(offset, path, 'merge keys (<<) are not supported', hint);
    } else {
      return { key: pair.key.value, offset };
    }
    return undefined;
  }

  #repeatedKey(path: Path, key: string, offset: number): void {
    const { line } = this.#faults.lines.linePos(this.keyOffsetOf([...path, key]));
    this.#faults.add(offset, path, `the key "${key}" is already on line ${line}`, 'remove one of the two');
  }

  #readList(list: YAMLSeq, path: Path, inside: readonly Node[]): unknown {
    return list.items.map((item, index) => {
      const node = item as Node | null;
      return this.#read(node, [...path, index], node?.range?.[0] ?? this.offsetOf(path), inside);
    });
  }

  #readAlias(alias: Alias, path: Path, key: number, inside: readonly Node[]): unknown {
    const target = this.#anchors.get(alias.source);
    const offset = alias.range?.[0] ?? key;
    if (target === undefined) {
      const hint = `write &${alias.source} before the value that it names`;
      return this.#unreadable(path, offset, `there is no anchor &${alias.source} above`, hint);
    }
    if (inside.includes(target)) {
      return this.#unreadable(path, offset, 'this alias contains itself', 'write the value out');
    }
    return this.#read(target, path, key, inside);
  }

  /** Records an anchor. Reports a second anchor with the same name, although YAML would let it replace the first. */
  #noteAnchor(node: Node, path: Path, offset: number): void {
    const { anchor } = node;
    if (anchor === undefined) return;
    const first = this.#anchors.get(anchor);
    if (first === undefined) this.#anchors.set(anchor, node);
    else if (first !== node)
      this.#faults.add(offset, path, `the anchor &${anchor} is already used above`, 'use another name');
  }

  #readScalar(value: unknown, path: Path, position: Omit<Position, 'replaced'>): unknown {
    if (typeof value !== 'string' || this.#isExpression(path)) return value;
    const { text, replaced, variables, whole, faults } = interpolate(value, this.#env);
    if (replaced) {
      const made = { source: value, text, variables, whole };
      this.#positions.set(keyOf(path), { ...position, replaced: made });
    }
    for (const fault of faults) {
      if (fault.unset && !isNeeded(path, this.#purpose)) this.#unread.add(keyOf(path));
      else this.#unreadable(path, position.value, fault.message, fault.hint);
    }
    return text;
  }

  /**
   * Whether a path leads to an expression, a test of expressions or a lookup table. A `$` there is not interpolated, because it may belong
   * to a regular expression.
   */
  #isExpression([section, sink, option]: Path): boolean {
    if (section === 'lookups') return true;
    if (section !== 'sinks') return false;
    const name = String(option);
    const type = this.#sinkTypes.find((one) => one.type === this.#typeOf.get(String(sink)));
    return Object.hasOwn(mappingOptions, name) || Object.hasOwn(type?.perLead ?? {}, name);
  }

  #tooMuch(path: Path, offset: number): undefined {
    // One fault for the whole file, since an alias bomb would cause thousands.
    if (this.#unread.has('')) return undefined;
    this.#unread.add('');
    const hint = 'write out the values of nested aliases';
    return this.#unreadable(path, offset, 'the configuration is too deep or too large from here on', hint);
  }

  #unknownTag(tag: string, path: Path, offset: number): undefined {
    if (this.#isExpression(path)) {
      const start = this.#text.lastIndexOf(tag, offset);
      return this.#unreadable(
        path,
        start < 0 ? offset : start,
        'YAML takes ! at the beginning for a tag',
        WHOLE,
      );
    }
    return this.#unreadable(
      path,
      offset,
      'has a YAML tag (!…) that leadsync does not know',
      'remove the tag',
    );
  }

  #unreadable(path: Path, offset: number, message: string, hint: string): undefined {
    this.#unread.add(keyOf(path));
    this.#faults.add(offset, path, message, hint);
    return undefined;
  }
}

/** Returns the value at a path of maps and lists, or undefined if there is none. */
export function valueAt(root: unknown, path: Path): unknown {
  return path.reduce((value, key) => {
    const inside = typeof value === 'object' && value !== null && Object.hasOwn(value, key);
    return inside ? Reflect.get(value, key) : undefined;
  }, root);
}

function keyOf(path: Path): string {
  return path.length === 0 ? '' : JSON.stringify(path.map(String));
}
