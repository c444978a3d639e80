import type { Delivery } from '../leads/delivery.ts';
import type { MappedColumn, MappedFields, MappedType, MappedValue } from '../leads/mapped-fields.ts';
import type { Secret } from '../platform/options/secret.ts';
import { type Expression, ExpressionCompiler, ExpressionFailed, isFault } from './expression.ts';
import { Effort } from './functions/effort.ts';
import { unwrapped } from './language.ts';
import { type LeadValue, Variables } from './lead-values.ts';
import { cut, mappedValue } from './mapped-value.ts';
import type { FieldRule, MappingDefinition } from './mapping-definition.ts';
import type { ExpressionFault } from './syntax-fault.ts';

/** Maximum number of characters in the JSON of a lead that expressions may read. */
export const MAX_LEAD_CHARACTERS = 1024 * 1024;
/** Maximum number of answers in a lead that expressions may read. */
export const MAX_ANSWERS = 1_000;

/** What is wrong with an expression of a mapping. */
export interface MappingFault extends ExpressionFault {
  /** The option that contains the expression: `['where']`, `['channel']` or `['fields', 'email']`. */
  readonly path: readonly string[];
}

/** The result of applying a mapping to a lead. */
export type Mapped =
  /**
   * The lead goes to the sink. `fields` is undefined if the lead goes as received; `perLead` has the sink options whose value depends on the lead.
   */
  | {
      readonly kind: 'mapped';
      readonly fields: MappedFields | undefined;
      readonly perLead: MappedFields | undefined;
    }
  /** `where` is false. */
  | { readonly kind: 'left-out' }
  /** An expression failed. `reason` is one sentence without text from the lead; `at` is the place, if one expression is the cause. */
  | { readonly kind: 'failed'; readonly reason: string; readonly at?: FailurePlace };

/** The expression that failed for a lead, the first and last column of the part that failed (1-based), and the cause as a phrase. */
export interface FailurePlace {
  readonly path: readonly string[];
  readonly column: number;
  /** Undefined if the whole expression failed. */
  readonly lastColumn: number | undefined;
  readonly cause: string;
}

interface CompiledField {
  readonly name: string;
  /** The option that contains the rule. */
  readonly path: readonly string[];
  readonly rule: FieldRule;
  /** Absent for a constant. */
  readonly expression?: Expression;
}

/** The mapping cannot be applied to a lead. The message is one sentence without text from the lead. */
class MappingFailed extends Error {
  override readonly name = 'MappingFailed';
  readonly at: FailurePlace | undefined;

  constructor(message: string, at?: FailurePlace) {
    super(message);
    this.at = at;
  }
}

/** Reports that the expression of an option was evaluated: `['where']` or `['fields', 'email']`. */
export type OnEvaluated = (path: readonly string[]) => void;

/** The compiled mapping of one sink. Evaluates synchronously; an expression can be written to take many seconds (see `MappingProcess`). */
export class Mapping {
  readonly definition: MappingDefinition;
  readonly #where: Expression | undefined;
  readonly #fields: readonly CompiledField[] | undefined;
  readonly #perLead: readonly CompiledField[] | undefined;
  readonly #current: { lead: LeadValue | undefined };
  readonly #effort: Effort;
  readonly #rawKeys: ReadonlySet<string> | undefined;
  #isWarm = false;

  private constructor(
    definition: MappingDefinition,
    where: Expression | undefined,
    { fields, perLead }: { readonly [part in 'fields' | 'perLead']: readonly CompiledField[] | undefined },
    current: { lead: LeadValue | undefined },
    effort: Effort,
  ) {
    this.definition = definition;
    this.#where = where;
    this.#fields = fields;
    this.#perLead = perLead;
    this.#current = current;
    this.#effort = effort;
    const compiled = [...(fields ?? []), ...(perLead ?? [])].map(({ expression }) => expression);
    this.#rawKeys = rawKeysOf([where, ...compiled].filter((one) => one !== undefined));
  }

  /** Compiles a definition. Returns all faults if there are any. `clientKey` is the key of the function `hash`. */
  static compile(
    definition: MappingDefinition,
    clientKey: Secret | undefined,
  ): Mapping | readonly MappingFault[] {
    const current: { lead: LeadValue | undefined } = { lead: undefined };
    const lead = () => {
      if (!current.lead) throw new Error('no lead is being mapped');
      return current.lead;
    };
    const effort = new Effort();
    const compiler = new ExpressionCompiler({ ...definition, clientKey, lead, effort });
    const faults: MappingFault[] = [];
    const compile = (text: string, wanted: 'bool' | 'value', path: readonly string[]) => {
      const compiled = compiler.compile(text, wanted);
      if (!isFault(compiled)) return compiled;
      faults.push({ ...compiled, path });
      return undefined;
    };
    const where = definition.where === undefined ? undefined : compile(definition.where, 'bool', ['where']);
    const compileAll = (rules: MappingDefinition['fields'], at: readonly string[]) =>
      rules &&
      Object.entries(rules).map(([name, rule]): CompiledField => {
        const path = [...at, name];
        const expression = 'value' in rule ? undefined : compile(rule.from, 'value', path);
        return expression ? { name, path, rule, expression } : { name, path, rule };
      });
    const fields = compileAll(definition.fields, ['fields']);
    const perLead = compileAll(definition.perLead, []);
    return faults.length > 0 ? faults : new Mapping(definition, where, { fields, perLead }, current, effort);
  }

  /** Returns the fields with their types, in order; undefined if the sink gets leads as received. */
  get columns(): readonly MappedColumn[] | undefined {
    return this.#fields?.map(({ name, rule, expression }) =>
      'value' in rule
        ? { name, type: typeOfConstant(rule.value), constant: rule.value }
        : {
            name,
            type: typeOf(expression?.type ?? 'dyn'),
            ...(expression?.literal === undefined ? {} : { constant: expression.literal }),
          },
    );
  }

  /**
   * Applies the mapping to a delivery. Calls `onEvaluated` after each expression, with the option that contains it, except for the first lead, whose
   * expressions take longer because they run for the first time.
   */
  map(delivery: Delivery, onEvaluated?: OnEvaluated): Mapped {
    const evaluated = this.#isWarm ? onEvaluated : undefined;
    this.#isWarm = true;
    try {
      requireReadable(delivery);
      const variables = new Variables(delivery, this.#rawKeys);
      requireFewAnswers(variables.lead);
      this.#current.lead = variables.lead;
      this.#effort.begin();
      if (this.#where && !this.#isWanted(this.#where, variables, evaluated)) return { kind: 'left-out' };
      const valuesOf = (fields: readonly CompiledField[] | undefined) =>
        fields && this.#fieldsOf(fields, delivery, variables, evaluated);
      return { kind: 'mapped', fields: valuesOf(this.#fields), perLead: valuesOf(this.#perLead) };
    } catch (error) {
      if (error instanceof ExpressionFailed) return failedAt(['where'], error);
      if (error instanceof MappingFailed) {
        const { message: reason, at } = error;
        return { kind: 'failed', reason, ...(at === undefined ? {} : { at }) };
      }
      // Any other error, such as a stack overflow, because one lead must not stop the others. Omits the error's message, which may quote the lead.
      const name = error instanceof Error ? error.name : typeof error;
      return { kind: 'failed', reason: `The mapping failed for this lead in an unexpected way (${name}).` };
    } finally {
      this.#current.lead = undefined;
    }
  }

  #isWanted(where: Expression, variables: Variables, evaluated: OnEvaluated | undefined): boolean {
    const wanted = evaluate(where, variables, () => evaluated?.(['where']));
    if (typeof wanted !== 'boolean') throw new ExpressionFailed('the value is neither true nor false', 1);
    return wanted;
  }

  #fieldsOf(
    fields: readonly CompiledField[],
    { event }: Delivery,
    variables: Variables,
    evaluated: OnEvaluated | undefined,
  ): MappedFields {
    const mapped = new Map<string, MappedValue>();
    for (const { name, path, rule, expression } of fields) {
      if ('value' in rule) mapped.set(name, rule.value);
      else if (expression && (!rule.once || event === 'created')) {
        mapped.set(
          name,
          fieldValue(path, rule, expression, variables, () => evaluated?.(path)),
        );
      }
    }
    return mapped;
  }
}

/** Returns the keys of `raw` that expressions use; undefined if one of them may use any key. */
function rawKeysOf(expressions: readonly Expression[]): ReadonlySet<string> | undefined {
  const keys = new Set<string>();
  for (const { rawKeys } of expressions) {
    if (rawKeys === undefined) return undefined;
    for (const key of rawKeys) keys.add(key);
  }
  return keys;
}

/** Returns the column type for a CEL type. The type `dyn` becomes text: `phone`, `email`, `default` and `lookup` return it. */
function typeOf(type: string): MappedType {
  const types: Readonly<Record<string, MappedType>> = {
    int: 'bigint',
    uint: 'bigint',
    double: 'double',
    bool: 'boolean',
    'google.protobuf.Timestamp': 'time',
  };
  return types[type] ?? (/^(list|map)/.test(type) ? 'json' : 'text');
}

function typeOfConstant(value: string | number | boolean | null): MappedType {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? 'bigint' : 'double';
  return typeof value === 'boolean' ? 'boolean' : 'text';
}

/** Returns the value of an expression. Calls `evaluated` even if the expression fails. */
function evaluate(expression: Expression, variables: Variables, evaluated: () => void): unknown {
  try {
    return unwrapped(expression.evaluate(variables));
  } finally {
    evaluated();
  }
}

type ExpressionRule = Extract<FieldRule, { readonly from: string }>;

/** Returns the value of a field, truncated to its maximum length; null if the expression fails and `invalid` is `drop`. @throws MappingFailed */
function fieldValue(
  path: readonly string[],
  { max, invalid }: ExpressionRule,
  expression: Expression,
  variables: Variables,
  evaluated: () => void,
): MappedValue {
  try {
    const value = evaluate(expression, variables, evaluated);
    const limited = typeof value === 'string' && max !== undefined ? cut(value, max) : value;
    return mappedValue(limited);
  } catch (error) {
    if (invalid === 'drop') return null;
    // Other errors come from values that exist in CEL but not in JSON, such as a time in the year 300,000.
    const failure =
      error instanceof ExpressionFailed ? error : new ExpressionFailed('the result cannot be sent', 1, error);
    const { reason, at } = failedAt(path, failure);
    throw new MappingFailed(reason, at);
  }
}

function failedAt(path: readonly string[], { column, lastColumn, message: cause }: ExpressionFailed) {
  const reason = `The expression of \`${path.at(-1)}\` failed for this lead at column ${column}: ${cause}.`;
  return { kind: 'failed', reason, at: { path, column, lastColumn, cause } } as const;
}

function requireReadable({ raw }: Delivery): void {
  if (raw.length > MAX_LEAD_CHARACTERS)
    throw new MappingFailed('The lead has more than 1 MB of text, which is more than expressions may read.');
}

function requireFewAnswers({ questions }: LeadValue): void {
  if (questions.length > MAX_ANSWERS)
    throw new MappingFailed(
      `The lead has more than ${MAX_ANSWERS.toLocaleString('en')} answers, which is more than expressions may read.`,
    );
}
