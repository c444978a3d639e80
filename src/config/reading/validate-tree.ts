import { z } from 'zod';
import { isUnreadableSecret } from '../../platform/options/option-types.ts';
import { didYouMean } from '../../platform/text/suggest.ts';
import { explainIssue, type Issue, innermostIssues } from '../faults/explain-issue.ts';
import type { FaultList, Path } from '../faults/fault-list.ts';
import { isNeeded, type Purpose } from './purpose.ts';
import { type Interpolation, valueAt, type YamlTree } from './yaml-tree.ts';

/** Validates parts of a configuration, each by its own schema, and reports every fault with its position in the file. */
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
   * Parses the value at the path `at`. If the value has faults, adds them to the list and returns undefined. Converts a value that is a
   * single `${…}` to a number or a boolean where the schema expects one. `neighbours` are keys of the same map that are validated
   * elsewhere; they are used only for suggestions.
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
    // Each round removes faults that hide others. The loop ends, because each round leaves fewer of them.
    for (let input = value; ; ) {
      // Each schema is used once, so compiling it (JIT) does not pay off.
      const result = schema.safeParse(input, { error, jitless: true });
      if (result.success) return result.data;
      const repaired = structuredClone(input);
      const changes = result.error.issues.filter((issue) =>
        issue.code === 'unrecognized_keys'
          ? this.#removeKeys(repaired, issue, at, [...(keys.get(String(issue.path)) ?? []), ...neighbours])
          : this.#readVariable(repaired, issue, at),
      );
      if (changes.length === 0) {
        for (const issue of result.error.issues) this.#report(issue, at);
        return undefined;
      }
      input = repaired;
    }
  }

  /** Adds a fault at the value of a path. */
  fault(path: Path, message: string, hint = ''): void {
    if (!this.#tree.unreadAt(path)) this.#faults.add(this.#tree.offsetOf(path), path, message, hint);
  }

  /** Adds a fault at a character of the text at a path. */
  faultInText(path: Path, index: number, message: string, hint = ''): void {
    if (!this.#tree.unreadAt(path))
      this.#faults.add(this.#tree.offsetInText(path, index), path, message, hint);
  }

  /** Adds a fault at the last key of a path. */
  keyFault(path: Path, message: string, hint = ''): void {
    const place = path.slice(0, -1);
    if (!this.#tree.unreadAt(place)) this.#faults.add(this.#tree.keyOffsetOf(path), place, message, hint);
  }

  /** Adds the fault that the last key of a path is missing. */
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

  /** Replaces the text of a variable with its number or boolean where the schema expects one. Returns whether it replaced the text. */
  #readVariable(root: unknown, issue: Issue, at: Path): boolean {
    const place = valueAt(root, issue.path.slice(0, -1));
    const key = issue.path.at(-1);
    const value = convertTo(expectedKind(issue), this.#tree.interpolationAt([...at, ...issue.path]));
    if (value === undefined || key === undefined || typeof place !== 'object' || place === null) return false;
    return typeof valueAt(root, issue.path) === 'string' && Reflect.set(place, key, value);
  }

  #report(outer: Issue, at: Path): void {
    if (outer.code !== 'custom' && !this.#tree.has([...at, ...outer.path])) {
      this.missing([...at, ...outer.path]);
      return;
    }
    for (const issue of innermostIssues(outer)) {
      const path = [...at, ...issue.path];
      if (isUnreadableSecret(issue) && !isNeeded(path, this.#purpose)) continue;
      const value = this.#tree.valueAt(path);
      if (value === null) this.fault(path, 'has no value', this.#hintForNothing(path));
      else if (issue.code === 'invalid_key') this.keyFault(path, explainKey(issue));
      else this.fault(path, this.#messageOf(issue, path), hintFor(issue, value));
    }
  }

  #hintForNothing(path: Path): string {
    return this.#tree.isFollowedByComment(path, /^[ \t]*#[^\s#]/)
      ? 'YAML takes # as the beginning of a comment: put the value in quotes'
      : 'write one, or remove the key';
  }

  /**
   * Returns the issue's message. If the message quotes the path of a secret's file, and that path contains an environment variable, shows the
   * reference to the variable (`${NAME}`) in place of its value, which may be secret. No other message quotes a value, so other messages stay
   * as they are, even if they contain the same text by chance.
   */
  #messageOf(issue: Issue, path: Path): string {
    const replaced = this.#tree.interpolationAt(path);
    const isQuoted = isUnreadableSecret(issue) && replaced !== undefined && replaced.text !== '';
    // If no variable supplied a value, the whole path is in the configuration itself.
    if (!isQuoted || replaced.variables.length === 0) return issue.message;
    return issue.message.replaceAll(replaced.text, () => replaced.source);
  }
}

function shapeKeys(schema: unknown): readonly string[] {
  return schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
}

type Kind = 'number' | 'boolean';

function expectedKind(issue: Issue): Kind | undefined {
  if (issue.code === 'invalid_union') {
    const atTop = issue.errors.flat().filter(({ path }) => path.length === 0);
    return atTop.map(expectedKind).find((kind) => kind !== undefined);
  }
  if (issue.code !== 'invalid_type') return undefined;
  if (issue.expected === 'boolean') return 'boolean';
  return issue.expected === 'number' || issue.expected === 'int' ? 'number' : undefined;
}

function convertTo(
  kind: Kind | undefined,
  replaced: Interpolation | undefined,
): number | boolean | undefined {
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
