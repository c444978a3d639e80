import type { z } from 'zod';

/** An issue of a zod result. */
export type Issue = z.core.$ZodIssue;

const KINDS: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a map of keys and values',
  record: 'a map of keys and values',
};

/** Returns a message for the operator about an issue. Does not quote the value. Used where the schema has no message of its own. */
export function explainIssue(issue: z.core.$ZodRawIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${KINDS[issue.expected] ?? issue.expected}${howToWrite(issue)}`;
    case 'invalid_value':
      return mustBeOneOf(issue.values);
    case 'invalid_union':
      return [
        ...new Set(issue.errors.flatMap((branch) => branch.slice(0, 1).map(({ message }) => message))),
      ].join(', or ');
    case 'too_small':
      return tooSmall(issue.origin, Number(issue.minimum), issue.inclusive !== false);
    case 'too_big':
      return tooBig(issue.origin, Number(issue.maximum), issue.inclusive !== false);
    case 'invalid_format':
      return issue.pattern === undefined ? `must be a valid ${issue.format}` : `must match ${issue.pattern}`;
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}`;
    default:
      return 'is not valid';
  }
}

/**
 * Returns the issues of the alternative of a union that the operator evidently meant. Returns the issue itself if it is unclear which
 * alternative that is, or if the issue is not about a union.
 */
export function innermostIssues(issue: Issue): readonly Issue[] {
  if (issue.code !== 'invalid_union') return [issue];
  for (const branch of issue.errors) {
    const inner = branch.flatMap(innermostIssues);
    if (inner.length === 0 || inner.some(isWrongForm)) continue;
    return inner.map((found) => ({ ...found, path: [...issue.path, ...found.path] }));
  }
  return [issue];
}

/** Returns a hint on how to write a value of the expected type if the mistake is one of two common ones; otherwise an empty string. */
function howToWrite({ expected, input }: z.core.$ZodRawIssue<z.core.$ZodIssueInvalidType>): string {
  if (expected === 'string' && ['number', 'boolean'].includes(typeof input)) return ': put it in quotes';
  const isMap = expected === 'object' || expected === 'record';
  const isKeyWithoutSpace = isMap && typeof input === 'string' && /^\w+:[^\s/]/.test(input);
  return isKeyWithoutSpace ? ': put a space after the colon of each key' : '';
}

function isWrongForm({ code, path }: Issue): boolean {
  if (code === 'unrecognized_keys' || code === 'invalid_union') return true;
  return path.length === 0 && (code === 'invalid_type' || code === 'invalid_value');
}

function mustBeOneOf(values: readonly unknown[]): string {
  const [only] = values;
  return values.length === 1
    ? `must be ${JSON.stringify(only)}`
    : `must be one of ${values.map(String).join(', ')}`;
}

function tooSmall(origin: string, minimum: number, inclusive: boolean): string {
  if (origin === 'string')
    return minimum === 1 ? 'must not be empty' : `must have at least ${minimum} characters`;
  if (origin === 'array')
    return minimum === 1 ? 'must not be empty' : `must have at least ${minimum} entries`;
  return inclusive ? `must be ${minimum} or more` : `must be more than ${minimum}`;
}

function tooBig(origin: string, maximum: number, inclusive: boolean): string {
  if (origin === 'string') return `must have at most ${maximum} characters`;
  if (origin === 'array') return `must have at most ${maximum} entries`;
  return inclusive ? `must be ${maximum} or less` : `must be less than ${maximum}`;
}
