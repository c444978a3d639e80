import type { z } from 'zod';
import type { MappedValue } from '../../leads/mapped-fields.ts';
import { Mapping, type MappingFault } from '../../mapping/mapping.ts';
import type { FieldRule, Lookups, MappingDefinition } from '../../mapping/mapping-definition.ts';
import { runTests, type TestFailure } from '../../mapping/run-tests.ts';
import type { Secret } from '../../platform/options/secret.ts';
import type { SinkType, StandardField } from '../../sinks/sink-type.ts';
import type { Path } from '../faults/fault-list.ts';
import { perLeadRules, type SinkOptions } from '../options/sink-options.ts';
import type { TreeValidator } from './validate-tree.ts';
import type { YamlTree } from './yaml-tree.ts';

/** What the mappings of all sinks share. */
export interface MappingParts {
  readonly lookups: Lookups;
  /** The key of the function `hash`. */
  readonly clientKey: Secret | undefined;
}

/**
 * Returns the mapping in the options of a sink; undefined if the sink gets every lead as received. `own` holds the options of its type;
 * undefined if they have a fault.
 */
export function mappingOf(
  options: SinkOptions,
  type: MappedType,
  own: z.output<SinkType['options']> | undefined,
  { lookups }: Pick<MappingParts, 'lookups'>,
): MappingDefinition | undefined {
  const { where, region } = options;
  const standard = own && type.standardFields?.(own, region);
  const fields = standard ? { ...rulesOf(standard), ...options.fields } : options.fields;
  const perLead = perLeadRules(options, type);
  if (where === undefined && fields === undefined && perLead === undefined) return undefined;
  const expressions = [where ?? '', ...Object.values({ ...perLead, ...fields }).map(textOf)];
  return { where, fields, perLead, region, lookups: usedTables(expressions.join('\n'), lookups) };
}

/**
 * Returns the lookup tables that the expressions use: all tables if an expression computes the name of one; undefined if no expression
 * calls `lookup`.
 */
function usedTables(expressions: string, lookups: Lookups): Lookups | undefined {
  const calls = [...expressions.matchAll(/\blookup\s*\(\s*(?:(?:"([^"\\]*)"|'([^'\\]*)')\s*,)?/g)];
  if (calls.length === 0) return undefined;
  const names = calls.map(([, one, other]) => one ?? other);
  if (names.includes(undefined)) return lookups;
  return Object.fromEntries(Object.entries(lookups).filter(([name]) => names.includes(name)));
}

/** The parts of a sink type on which a mapping depends. */
type MappedType = Pick<SinkType, 'perLead' | 'standardFields'>;

function rulesOf(standard: Readonly<Record<string, StandardField>>): Readonly<Record<string, FieldRule>> {
  const rules = Object.entries(standard).map(([name, { from, once = false, max }]): [string, FieldRule] => [
    name,
    { from, once, max, invalid: 'drop' },
  ]);
  return Object.fromEntries(rules);
}

/** Checks every expression of a sink, and runs its tests. Adds a fault for each problem, at the characters that cause it. */
export class MappingReader {
  readonly #tree: YamlTree;
  readonly #validator: TreeValidator;
  readonly #parts: MappingParts;

  constructor(tree: YamlTree, validator: TreeValidator, parts: MappingParts) {
    this.#tree = tree;
    this.#validator = validator;
    this.#parts = parts;
  }

  /**
   * Checks the expressions in the options of the sink at a path. Returns a function that runs the sink's tests. Call it only if the file
   * has no other fault, because tests can fail as a consequence of one.
   */
  check(
    options: SinkOptions,
    type: MappedType & Pick<SinkType, 'fieldFault'>,
    own: z.output<SinkType['options']> | undefined,
    at: Path,
  ): () => void {
    const { tests = [] } = options;
    const nothing = () => undefined;
    this.#checkNames(options, type, own, at);
    const definition = mappingOf(options, type, own, this.#parts);
    this.#checkConstants(definition, type.perLead, at);
    if (definition === undefined) {
      if (tests.length > 0)
        this.#validator.keyFault([...at, 'tests'], 'there is nothing to test', 'add `where` or `fields`');
      return nothing;
    }
    // With all tables, so that a fault can suggest their names.
    const lookups = definition.lookups && this.#parts.lookups;
    const mapping = Mapping.compile({ ...definition, lookups }, this.#parts.clientKey);
    if (mapping instanceof Mapping)
      return () => {
        for (const failure of runTests(mapping, tests)) this.#addFailure(failure, at);
      };
    for (const fault of mapping) this.#addFault(fault, at);
    return nothing;
  }

  #checkNames(
    { fields = {} }: SinkOptions,
    { perLead = {}, fieldFault }: Pick<SinkType, 'perLead' | 'fieldFault'>,
    own: z.output<SinkType['options']> | undefined,
    at: Path,
  ): void {
    for (const name of Object.keys(fields)) {
      const path = [...at, 'fields', name];
      const isOption = Object.hasOwn(perLead, name);
      const fault = isOption ? 'is an option of the sink, not a field' : fieldFault?.(name, own);
      const hint = isOption ? 'write it above or below `fields`, in the same column' : 'use another name';
      if (fault !== undefined) this.#validator.keyFault(path, `\`${name}\` ${fault}`, hint);
    }
  }

  /** Refuses `{ value: }`, which YAML reads as null, and constants that an option does not accept. */
  #checkConstants(
    { fields = {}, perLead = {} }: Pick<MappingDefinition, 'fields' | 'perLead'> = {},
    options: SinkType['perLead'],
    at: Path,
  ): void {
    const check = (path: Path, rule: FieldRule, faultOf?: (constant: MappedValue) => string | undefined) => {
      if (!('value' in rule)) return;
      const place = [...at, ...path, 'value'];
      if (this.#tree.isBlankAt(place)) {
        this.#validator.fault(place, 'has no value', 'write "" for empty text, or null for no value');
        return;
      }
      const message = faultOf?.(rule.value);
      if (message !== undefined) this.#validator.fault(place, message);
    };
    for (const [name, rule] of Object.entries(fields)) check(['fields', name], rule);
    for (const [name, rule] of Object.entries(perLead)) check([name], rule, options?.[name]?.fault);
  }

  #addFailure(failure: TestFailure, at: Path): void {
    const { test, name, path, expected, actual, suggestion, at: failed } = failure;
    if (failed) {
      const message = `the lead of the test "${name}" is refused: ${failed.cause}`;
      this.#validator.faultInText(this.#placeOf(failed.path, at), failed.column - 1, message, UNSURE);
      return;
    }
    const message = `the test "${name}" expects ${expected}, and the result is ${actual}`;
    const place = path.length > 0 ? path : ['name'];
    const other = isQuotesOnly(expected, actual)
      ? 'mind the quotes'
      : '`leadsync test` shows every difference';
    this.#validator.fault([...at, 'tests', test, ...place], message, suggestion || other);
  }

  #addFault({ path, start, message, hint }: MappingFault, at: Path): void {
    const place = this.#placeOf(path, at);
    const isCut = this.#tree.isFollowedByComment(place);
    this.#validator.faultInText(place, start, message, isCut ? CUT : hint);
  }

  /** Returns the path of an expression's text. The long form of a field has it under `from`. */
  #placeOf(path: readonly string[], at: Path): Path {
    const long = [...at, ...path, 'from'];
    return this.#tree.has(long) ? long : [...at, ...path];
  }
}

const UNSURE = 'use answer("…"), .? or default(…) for what a lead may lack, or `invalid: drop`';

/** Whether two JSON values differ only in quotes, such as "3" and 3. */
function isQuotesOnly(one: string, other: string): boolean {
  return one.replaceAll('"', '') === other.replaceAll('"', '');
}

const CUT = 'YAML takes ` #` as the beginning of a comment: put the whole expression in single quotes';

function textOf(rule: FieldRule): string {
  return 'from' in rule ? rule.from : '';
}
