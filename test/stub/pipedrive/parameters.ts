import { invalidV1, invalidV2, Refusal } from './vendor-answer.ts';

/** A JSON object as received. */
export type Body = Readonly<Record<string, unknown>>;

/** Returns what is wrong with a value, or undefined. */
export type Rule = (value: unknown) => string | undefined;

/** The parameters that an operation takes; it refuses others. */
export type Parameters = Readonly<Record<string, Rule>>;

/** One parameter and what is wrong with it. */
interface Fault {
  readonly name: string;
  readonly fault: string;
}

/** A whole number; a number as text is none. */
export const anInteger: Rule = (value) => (Number.isSafeInteger(value) ? undefined : 'must be an integer');
/** A finite number. */
export const aNumber: Rule = (value) => (Number.isFinite(value) ? undefined : 'must be a number');
/** true or false; 0 and 1 are neither. */
export const aBoolean: Rule = (value) => (typeof value === 'boolean' ? undefined : 'must be a boolean');
/** A JSON object with any content. */
export const anObject: Rule = (value) => (isObject(value) ? undefined : 'must be an object');
/** A day that exists. */
export const aDate: Rule = (value) =>
  typeof value === 'string' && isDate(value) ? undefined : 'must be a date of the form YYYY-MM-DD';
/** A time of RFC 3339 in whole seconds: Pipedrive's v2 refuses a fraction. */
export const aTime: Rule = (value) =>
  typeof value === 'string' &&
  /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d)$/.test(value) &&
  !Number.isNaN(Date.parse(value))
    ? undefined
    : 'This value is not a valid datetime.';

/** A text of 1 to `max` characters. */
export function aText(max: number): Rule {
  return (value) => {
    if (typeof value !== 'string') return 'must be a string';
    if (value.trim() === '') return 'is not allowed to be empty';
    return value.length > max ? `length must be less than or equal to ${max} characters long` : undefined;
  };
}

/** One of the values. */
export function oneOf(...values: readonly unknown[]): Rule {
  return (value) => (values.includes(value) ? undefined : `must be one of [${values.join(', ')}]`);
}

/** null, which clears the parameter, or what the rule takes. */
export function orNull(rule: Rule): Rule {
  return (value) => (value === null ? undefined : rule(value));
}

/** An array of what the rule takes. */
export function listOf(rule: Rule): Rule {
  return (value) => {
    if (!Array.isArray(value)) return 'must be an array';
    const at = value.findIndex((item) => rule(item) !== undefined);
    return at < 0 ? undefined : `[${at}] ${rule(value[at])}`;
  };
}

/** An object with these parameters and no others; `required` must be there. */
export function shape(parameters: Parameters, ...required: readonly string[]): Rule {
  return (value) => {
    if (!isObject(value)) return 'must be an object';
    const [first] = faultsOf(value, parameters, required);
    return first && `.${first.name} ${first.fault}`;
  };
}

/** Checks a body as v2 does. @throws Refusal 400 with every fault */
export function checkV2(body: Body, parameters: Parameters, required: readonly string[] = []): void {
  const faults = faultsOf(
    body,
    parameters,
    required,
    (name) => `Parameter '${name}' is not allowed for this request`,
  );
  if (faults.length > 0) throw new Refusal(invalidV2(faults.map(({ name, fault }) => `${name}: ${fault}`)));
}

/** Checks a body as the leads and notes of v1 do. @throws Refusal 400 with the first fault */
export function checkV1(body: Body, parameters: Parameters, required: readonly string[] = []): void {
  const [first] = faultsOf(body, parameters, required);
  if (first) throw new Refusal(invalidV1(`"${first.name}" ${first.fault}`));
}

/** Checks a query as v2 does, which knows its parameters. @throws Refusal 400 */
export function checkQuery(
  query: URLSearchParams,
  parameters: Parameters,
  required: readonly string[] = [],
): void {
  checkV2(Object.fromEntries(query), parameters, required);
}

/** A whole number in a query. */
export const anIntegerText: Rule = (value) =>
  typeof value === 'string' && /^\d{1,15}$/.test(value) ? undefined : 'must be an integer';

/** Whether the value is an object and no array. */
export function isObject(value: unknown): value is Body {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whether the text is a day that exists. */
export function isDate(text: string): boolean {
  const at = Date.parse(`${text}T00:00:00Z`);
  return /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(at) && new Date(at).toISOString().startsWith(text);
}

function faultsOf(
  body: Body,
  parameters: Parameters,
  required: readonly string[],
  unknown: (name: string) => string = () => 'is not allowed',
): Fault[] {
  const missing = required
    .filter((name) => body[name] === undefined)
    .map((name) => ({ name, fault: 'is required' }));
  const wrong = Object.entries(body).flatMap(([name, value]) => {
    const rule = Object.hasOwn(parameters, name) ? parameters[name] : undefined;
    const fault = rule === undefined ? unknown(name) : rule(value);
    return fault === undefined ? [] : [{ name, fault }];
  });
  return [...missing, ...wrong];
}
