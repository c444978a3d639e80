import type * as Cel from '@marcbachmann/cel-js';
import { type CelError, faultOf, TYPE_NAMES } from './expression-fault.ts';
import { isTimeZone, noTimeZone } from './functions/zoned-date.ts';
import { FUNCTIONS, INT, type LanguageParts, LOOPS, newEnvironment, SPLIT, TYPES } from './language.ts';
import type { Variables } from './lead-values.ts';
import type { ExpressionFault } from './syntax-fault.ts';

/** An expression failed for one lead. The message contains no text from the lead. */
export class ExpressionFailed extends Error {
  override readonly name = 'ExpressionFailed';
  /** 1-based. */
  readonly column: number;
  /** The last column of the part that failed; undefined if it is the whole expression. */
  readonly lastColumn: number | undefined;

  constructor(reason: string, column: number, cause?: unknown, lastColumn?: number) {
    super(reason, { cause });
    this.column = column;
    this.lastColumn = lastColumn;
  }
}

/** The types that a field value may have, besides lists and maps of these types. */
const SENDABLE = new Set([
  'string',
  'int',
  'uint',
  'double',
  'bool',
  'null',
  'dyn',
  'google.protobuf.Timestamp',
]);
/** Maximum depth of nested loops. The time grows exponentially with the depth. */
const LOOPS_DEEP = 2;

type Node = Cel.ASTNode;

type Literal = string | bigint | number | boolean;

/** A checked expression. */
export interface Expression {
  readonly text: string;
  /** The type of the value in CEL. */
  readonly type: string;
  /** The keys of `raw` that the expression uses; undefined if it may use any key. */
  readonly rawKeys: ReadonlySet<string> | undefined;
  /** The value, if the expression is a literal string, number or boolean such as `"default"` or `2`; undefined otherwise. */
  readonly literal: Literal | undefined;
  /** Returns the CEL value for a lead. @throws ExpressionFailed */
  evaluate(variables: Variables): unknown;
}

/** Checks and compiles the expressions of one mapping. */
export class ExpressionCompiler {
  readonly #environment: Cel.Environment;
  readonly #parts: LanguageParts;

  constructor(parts: LanguageParts) {
    this.#parts = parts;
    this.#environment = newEnvironment(parts);
  }

  /**
   * Returns the expression, or what is wrong with it. `wanted` is `bool` for a condition, and `value` for anything that can be sent.
   */
  compile(text: string, wanted: 'bool' | 'value'): Expression | ExpressionFault {
    let program: Cel.ParseResult;
    try {
      program = this.#environment.parse(text);
    } catch (error) {
      return faultOf(error as CelError, text, wanted);
    }
    replaceFunctions(program.ast);
    const misuse = findMisuse(program.ast, this.#parts);
    if (misuse) return misuse;
    const rawKeys = rawKeysOf(program.ast);
    const { type = 'dyn', error } = program.check();
    if (error) return faultOf(error as CelError, text, wanted);
    return (
      typeFault(type, wanted, text) ?? {
        text,
        type,
        rawKeys,
        literal: scalarOf(program.ast),
        evaluate: (variables) => evaluate(program, text, variables),
      }
    );
  }
}

/** Whether `compile` returned a fault. */
export function isFault(compiled: Expression | ExpressionFault): compiled is ExpressionFault {
  return 'message' in compiled;
}

/** What a failure means, by its code. Replaces the package's own message, which may quote the lead. */
const FAILURES: Readonly<Record<string, string>> = {
  no_such_key: 'the lead has no',
  index_out_of_bounds: 'the list has no such element',
  index_out_of_range: 'the position is beyond the end of the text or list',
  division_by_zero: 'division by zero',
  modulo_by_zero: 'division by zero',
  numeric_overflow: 'the number is too large',
  int_conversion_error: 'the text is not a whole number',
  uint_conversion_error: 'the text is not a whole number',
  double_conversion_error: 'the text is not a number',
  invalid_timestamp: 'the text is not a time',
  invalid_duration: 'the text is not a duration',
  list_too_long: 'a list has more than 1,000 elements',
  text_too_long: 'the result is too long',
  too_much_effort: 'it calls functions too often for the size of this lead',
  optional_value_missing: 'the optional value is absent',
  field_type_mismatch: 'the value is absent or of another type',
  no_matching_overload: 'the value has a type that the function does not accept',
  no_such_overload: 'the value has a type that the operator does not accept',
};

function scalarOf({ op, args }: Node): Literal | undefined {
  const isScalar = ['string', 'bigint', 'number', 'boolean'].includes(typeof args);
  return op === 'value' && isScalar ? (args as Literal) : undefined;
}

function literalOf({ op, args }: Node): string | undefined {
  return op === 'value' && typeof args === 'string' ? args : undefined;
}

function evaluate(program: Cel.ParseResult, text: string, variables: Variables): unknown {
  try {
    return program(variables);
  } catch (error) {
    const { code = '', range } = error as CelError;
    const reason = FAILURES[code] ?? 'it cannot be evaluated';
    // A part of the expression, never of the lead.
    const part = range && code === 'no_such_key' ? ` \`${text.slice(range.start, range.end)}\`` : '';
    throw new ExpressionFailed(`${reason}${part}`, (range?.start ?? 0) + 1, error, range?.end);
  }
}

function typeFault(type: string, wanted: 'bool' | 'value', text: string): ExpressionFault | undefined {
  const whole = { start: 0, end: text.length };
  if (wanted === 'bool') {
    if (type === 'bool' || type === 'dyn') return undefined;
    return {
      ...whole,
      message: `is ${nameOf(type)}, but must be true or false`,
      hint: 'compare it: … == "text"',
    };
  }
  if (isSendable(type)) return undefined;
  const fields = Object.entries(TYPES).find(([name]) => name === type)?.[1].fields;
  const hint = fields
    ? `choose one of its fields: ${Object.keys(fields)
        .map((field) => `.${field}`)
        .join(', ')}`
    : 'convert it to text, a number, a list or a map';
  return { ...whole, message: `is ${nameOf(type)}, which cannot be sent`, hint };
}

/** Whether values of a type can be sent: `string`, `list<int>`, `optional<dyn>`, `map<string, dyn>`. */
function isSendable(type: string): boolean {
  return type
    .split(/[<>,\s]+/)
    .filter((part) => part !== '')
    .every((part) => SENDABLE.has(part) || ['list', 'map', 'optional'].includes(part));
}

/** Returns the name of a type, for messages. */
function nameOf(type: string): string {
  return TYPE_NAMES[type] ?? `of the type ${type}`;
}

/** Finds the first use of a CEL feature that a mapping must not or cannot use. */
function findMisuse(root: Node, parts: LanguageParts): ExpressionFault | undefined {
  const visit = (node: Node, loops: number): ExpressionFault | undefined => {
    const called = callOf(node);
    const deeper = called && LOOPS.has(called.name) && called.receiver ? loops + 1 : loops;
    const misuse = called && misuseOf(node, called, deeper, parts);
    if (misuse) return misuse;
    for (const child of childrenOf(node)) {
      // The list that a loop runs over is evaluated once, outside the loop.
      const found = visit(child, child === called?.receiver ? loops : deeper);
      if (found) return found;
    }
    return undefined;
  };
  return visit(root, 0);
}

/** Returns the keys of `raw` that an expression selects; undefined if it uses `raw` in another way. */
function rawKeysOf(root: Node): ReadonlySet<string> | undefined {
  const keys = new Set<string>();
  const visit = (node: Node): boolean => {
    if (node.op === 'id') return node.args !== 'raw';
    const isSelect = node.op === '.' || node.op === '.?';
    if (isSelect && node.args[0].op === 'id' && node.args[0].args === 'raw') {
      keys.add(node.args[1]);
      return true;
    }
    return childrenOf(node).every(visit);
  };
  return visit(root) ? keys : undefined;
}

/** Replaces two functions of the package: `int`, which converts empty text to 0, and `split`, which may return a list of any length. */
function replaceFunctions(node: Node): void {
  if (node.op === 'call' && node.args[0] === 'int') node.args[0] = INT;
  if (node.op === 'rcall' && node.args[0] === 'split') node.args[0] = SPLIT;
  for (const child of childrenOf(node)) replaceFunctions(child);
}

interface Call {
  readonly name: string;
  readonly receiver: Node | undefined;
  readonly args: readonly Node[];
}

function callOf(node: Node): Call | undefined {
  if (node.op === 'call') return { name: node.args[0], receiver: undefined, args: node.args[1] };
  if (node.op === 'rcall') return { name: node.args[0], receiver: node.args[1], args: node.args[2] };
  return undefined;
}

function childrenOf(node: Node): readonly Node[] {
  const nodes = (value: unknown): readonly Node[] => {
    if (Array.isArray(value)) return value.flatMap(nodes);
    return typeof value === 'object' && value !== null && 'op' in value ? [value as Node] : [];
  };
  return nodes(node.args);
}

function misuseOf(
  node: Node,
  { name, receiver, args }: Call,
  loops: number,
  parts: LanguageParts,
): ExpressionFault | undefined {
  const at = { start: node.range.start, end: node.range.end };
  if (name === 'matches')
    return {
      ...at,
      message: '`matches` is not available, because its patterns can take exponential time',
      hint: 'use like(text, "pattern"), whose time is linear',
    };
  if (loops > LOOPS_DEEP)
    return {
      ...at,
      message: `\`${name}\` is inside ${LOOPS_DEEP} other loops`,
      hint: `at most ${LOOPS_DEEP} of ${[...LOOPS].join(', ')} may be nested`,
    };
  const [zone] = args;
  const isZone = zone?.op === 'value' && typeof zone.args === 'string' && receiver && /^get[A-Z]/.test(name);
  if (isZone && !isTimeZone(String(zone.args)))
    return {
      ...at,
      message: `\`${name}\`: ${noTimeZone(String(zone.args))}`,
      hint: 'write a name such as Australia/Sydney',
    };
  const own = receiver === undefined && Object.hasOwn(FUNCTIONS, name) ? FUNCTIONS[name] : undefined;
  const constants = args.map(literalOf);
  const message = own?.fault?.(constants, parts);
  return message === undefined ? undefined : { ...at, message: `\`${name}\`: ${message}`, hint: '' };
}
