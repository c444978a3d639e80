import { z } from 'zod';
import { isUnreadableSecret } from '../../platform/options/option-types.ts';
import { explainIssue, type Issue, innermostIssues } from '../faults/explain-issue.ts';
import type { FaultList, Path } from '../faults/fault-list.ts';
import { didYouMean } from '../faults/suggest.ts';
import { isNeeded, type Purpose } from './needs.ts';
import { type Replaced, valueAt, type YamlTree } from './yaml-tree.ts';

/** Validates parts of a configuration, each by its own schema, and puts every fault at its place in the file. */
export class TreeValidator {
  readonly #tree: YamlTree;
  readonly #faults: FaultList;
  readonly #purpose: Purpose;

  constructor(tree: YamlTree, faults: FaultList, purpose: Purpose) {
    this.#purpose = purpose;
    this.#tree = tree;
    this.#faults = faults;
  }

  /**
   * What the schema makes of the value that stands at `at`, or undefined when it has faults; they are noted.
   * A value that is wholly one `${…}` is read as a number or a boolean where one is wanted. `neighbours` are keys of the same
   * map that are validated elsewhere: they are only suggested.
   */
  validate<Schema extends z.ZodType>(
    schema: Schema,
    value: unknown,
    at: Path,
    neighbours: readonly string[] = [],
  ): z.output<Schema> | undefined {
    const keys = new Map<string, readonly string[]>();
    const error = (issue: z.core.$ZodRawIssue) => {
      if (issue.code === 'unrecognized_keys') keys.set(String(issue.path ?? []), shapeKeys(issue.inst));
      return explainIssue(issue);
    };
    // Each round puts right what hides other faults, and there is less of it than before.
    for (let input = value; ; ) {
      // A configuration is read once: code for it is not worth its making.
      const result = schema.safeParse(input, { error, jitless: true });
      if (result.success) return result.data;
      const repaired = structuredClone(input);
      const changes = result.error.issues.filter((issue) =>
        issue.code === 'unrecognized_keys'
          ? this.#removeKeys(repaired, issue, at, [...(keys.get(String(issue.path)) ?? []), ...neighbours])
          : this.#readVariable(repaired, issue, at),
      );
      if (changes.length === 0) {
        for (const issue of result.error.issues) this.#tell(issue, at);
        return undefined;
      }
      input = repaired;
    }
  }

  /** Notes a fault about the value at a path. */
  fault(path: Path, message: string, hint = ''): void {
    if (!this.#tree.unreadAt(path)) this.#faults.add(this.#tree.offsetOf(path), path, message, hint);
  }

  /** Notes a fault about the key that ends a path. */
  keyFault(path: Path, message: string, hint = ''): void {
    const place = path.slice(0, -1);
    if (!this.#tree.unreadAt(place)) this.#faults.add(this.#tree.keyOffsetOf(path), place, message, hint);
  }

  /** Notes that the key that ends a path is not there. */
  missing(path: Path, hint = 'add it'): void {
    const place = path.slice(0, -1);
    if (this.#tree.unreadAt(path)) return;
    this.#faults.add(this.#tree.keyOffsetOf(place), place, `"${String(path.at(-1))}" is missing`, hint);
  }

  #removeKeys(
    root: unknown,
    { keys, path }: z.core.$ZodIssueUnrecognizedKeys,
    at: Path,
    known: readonly string[],
  ): boolean {
    const map = valueAt(root, path);
    for (const key of keys) {
      const hint = didYouMean(key, known) || `known here: ${known.join(', ')}`;
      this.keyFault([...at, ...path, key], `unknown key "${key}"`, hint);
      if (typeof map === 'object' && map !== null) Reflect.deleteProperty(map, key);
    }
    return true;
  }

  /** Puts the number or boolean in place that a variable spells, where the schema wants one. */
  #readVariable(root: unknown, issue: Issue, at: Path): boolean {
    const place = valueAt(root, issue.path.slice(0, -1));
    const key = issue.path.at(-1);
    const value = readAs(wantedKind(issue), this.#tree.replacedAt([...at, ...issue.path]));
    if (value === undefined || key === undefined || typeof place !== 'object' || place === null) return false;
    return typeof valueAt(root, issue.path) === 'string' && Reflect.set(place, key, value);
  }

  #tell(outer: Issue, at: Path): void {
    if (outer.code !== 'custom' && !this.#tree.has([...at, ...outer.path])) {
      this.missing([...at, ...outer.path]);
      return;
    }
    for (const issue of innermostIssues(outer)) {
      const path = [...at, ...issue.path];
      if (isUnreadableSecret(issue) && !isNeeded(path, this.#purpose)) continue;
      const value = this.#tree.valueAt(path);
      if (value === null) this.fault(path, 'has no value', 'write one, or remove the key');
      else if (issue.code === 'invalid_key') this.keyFault(path, explainKey(issue));
      else this.fault(path, this.#wordsOf(issue, path), hintFor(issue, value));
    }
  }

  /** A message may not say what a variable holds: the variable is named in its place. */
  #wordsOf(issue: Issue, path: Path): string {
    const replaced = this.#tree.replacedAt(path);
    if (issue.code !== 'custom' || replaced === undefined || replaced.text === '') return issue.message;
    return issue.message.replaceAll(replaced.text, () => replaced.source);
  }
}

function shapeKeys(schema: unknown): readonly string[] {
  return schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
}

type Kind = 'number' | 'boolean';

function wantedKind(issue: Issue): Kind | undefined {
  if (issue.code === 'invalid_union') {
    const atTop = issue.errors.flat().filter(({ path }) => path.length === 0);
    return atTop.map(wantedKind).find((kind) => kind !== undefined);
  }
  if (issue.code !== 'invalid_type') return undefined;
  if (issue.expected === 'boolean') return 'boolean';
  return issue.expected === 'number' || issue.expected === 'int' ? 'number' : undefined;
}

function readAs(kind: Kind | undefined, replaced: Replaced | undefined): number | boolean | undefined {
  if (kind === undefined || replaced?.whole !== true) return undefined;
  if (kind === 'number')
    return /^-?(0|[1-9]\d*)(\.\d+)?$/.test(replaced.text) ? Number(replaced.text) : undefined;
  return replaced.text === 'true' || (replaced.text === 'false' ? false : undefined);
}

function explainKey(issue: z.core.$ZodIssueInvalidKey): string {
  return issue.issues[0]?.message ?? 'this key is not valid';
}

function hintFor(issue: Issue, value: unknown): string {
  const isChoice = issue.code === 'invalid_value' && typeof value === 'string';
  return isChoice ? didYouMean(value, issue.values.map(String)) : '';
}
