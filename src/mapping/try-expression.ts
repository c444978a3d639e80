import type { Delivery } from '../leads/delivery.ts';
import { mappedJson } from '../leads/mapped-fields.ts';
import type { Secret } from '../platform/options/secret.ts';
import { Mapping } from './mapping.ts';
import { type Lookups, MAX_EXPRESSION } from './mapping-definition.ts';
import { outlineOf } from './value-outline.ts';

/** Maximum number of characters in a value's JSON. */
const MAX_JSON = 1024 * 1024;

/** An expression to try, with the options that it can use. */
export interface ExpressionToTry {
  readonly expression: string;
  readonly region: string | undefined;
  readonly lookups: Lookups;
}

/** The result of evaluating an expression for one lead. */
export type TriedExpression =
  /** `json` is the value as JSON; `type` says what kind of value it is: `text of 12 characters`. */
  | { readonly kind: 'value'; readonly type: string; readonly json: string }
  /** The expression is wrong for every lead. */
  | ({ readonly kind: 'fault' } & ExpressionProblem)
  /** The expression is valid, but fails for this lead. */
  | ({ readonly kind: 'failed' } & ExpressionProblem);

/** What is wrong, the next step (may be empty), and the offsets of the characters that cause the problem; null if the whole expression does. */
export interface ExpressionProblem {
  readonly message: string;
  readonly hint: string;
  readonly place: { readonly start: number; readonly end: number } | null;
}

/** Evaluates an expression for a lead, as a field of a mapping would. Can take many seconds and much memory: see `MappingProcess`. */
export function tryExpression(
  { expression: from, region, lookups }: ExpressionToTry,
  delivery: Delivery,
  clientKey: Secret | undefined,
): TriedExpression {
  if (from.length > MAX_EXPRESSION) return TOO_LONG;
  const fields = { value: { from, once: false, invalid: 'refuse' } as const };
  const mapping = Mapping.compile({ fields, region, lookups }, clientKey);
  if (!(mapping instanceof Mapping)) {
    const [fault] = mapping;
    if (fault === undefined) throw new Error('an expression that was not compiled has no fault');
    const { message, hint, start, end } = fault;
    return { kind: 'fault', message, hint, place: { start, end } };
  }
  const mapped = mapping.map(delivery);
  if (mapped.kind === 'failed') {
    const { reason, at } = mapped;
    if (at === undefined) return { kind: 'failed', message: reason, hint: '', place: null };
    const { cause, column, lastColumn } = at;
    const place = lastColumn === undefined ? null : { start: column - 1, end: lastColumn };
    return { kind: 'failed', message: cause, hint: '', place };
  }
  const value = (mapped.kind === 'mapped' ? mapped.fields?.get('value') : undefined) ?? null;
  const json = mappedJson(value);
  if (json.length > MAX_JSON) return TOO_LARGE;
  return { kind: 'value', type: outlineOf(value, mapping.columns?.[0]?.type), json };
}

const TOO_LONG: TriedExpression = {
  kind: 'fault',
  message: `an expression may have at most ${MAX_EXPRESSION.toLocaleString('en')} characters`,
  hint: 'split it',
  place: null,
};

const TOO_LARGE: TriedExpression = {
  kind: 'failed',
  message: `the value has more than ${MAX_JSON.toLocaleString('en')} characters`,
  hint: '',
  place: null,
};
