import { didYouMean } from '../../platform/text/suggest.ts';

/** The environment variables in which `${…}` is looked up. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Why a `${…}` was not replaced. */
export interface InterpolationFault {
  readonly message: string;
  readonly hint: string;
  /** Whether the syntax is right, but the variable is not set. */
  readonly unset: boolean;
}

/** The result of interpolation. */
export interface Interpolated {
  readonly text: string;
  /** Whether the text had any `${…}`. */
  readonly replaced: boolean;
  /** Names of the variables that were not replaced by a default, in order. */
  readonly variables: readonly string[];
  /** Whether the template was a single `${…}`. */
  readonly whole: boolean;
  readonly faults: readonly InterpolationFault[];
}

// An unclosed ${ matches to the end of the text, so that matching takes linear time.
const REFERENCE = /\$(?:(\$)|\{([^}]*)(\}?)|)/g;
const BODY = /^([A-Za-z_][A-Za-z0-9_]*)(?:(:-|:\?)([\s\S]*))?$/;

/**
 * Replaces `${NAME}`, `${NAME:-default}`, `${NAME:?message}` and `$$`. As in a shell, an empty variable counts as unset if the reference
 * has a default or a message. Inserted text is not interpolated again.
 */
export function interpolate(template: string, env: Environment): Interpolated {
  const faults: InterpolationFault[] = [];
  const variables: string[] = [];
  let replaced = false;
  const text = template.replace(REFERENCE, (_, dollar?: string, body?: string, close?: string) => {
    if (dollar !== undefined) return '$';
    if (body === undefined) {
      faults.push(syntaxFault('has a single $', 'write ${NAME} for a variable, or $$ for a dollar sign'));
    } else if (close === '') {
      faults.push(syntaxFault('has a ${ without its }', 'close it, or write $$ for a dollar sign'));
    } else {
      replaced = true;
      const { name, value } = lookUp(body, env);
      if (name !== undefined) variables.push(name);
      if (typeof value === 'string') return value;
      faults.push(value);
    }
    return '';
  });
  return { text, replaced, variables, whole: /^\$\{[^}]*\}$/.test(template), faults };
}

/** The value of a reference, or its fault. `name` is absent if the default was used, or if the syntax is wrong. */
interface Lookup {
  readonly name?: string;
  readonly value: string | InterpolationFault;
}

function lookUp(body: string, env: Environment): Lookup {
  const [, name, operator, more = ''] = BODY.exec(body) ?? [];
  if (name === undefined || (operator === ':-' && more.replaceAll('$$', '').includes('$'))) {
    const hint = 'write ${NAME}, ${NAME:-default} or ${NAME:?message}, without another ${…} inside';
    return { value: syntaxFault('has an invalid ${…}', hint) };
  }
  const value = Object.hasOwn(env, name) ? env[name] : undefined;
  if (operator === ':-') return value ? { name, value } : { value: more.replaceAll('$$', '$') };
  const message = `the variable ${name} is not set`;
  if (operator === ':?' && !value)
    return { name, value: { message, hint: more.trim() || `set ${name}`, unset: true } };
  if (value !== undefined) return { name, value };
  const hint = didYouMean(name, Object.keys(env)) || `set it, or add a default: \${${name}:-…}`;
  return { name, value: { message, hint, unset: true } };
}

function syntaxFault(message: string, hint: string): InterpolationFault {
  return { message, hint, unset: false };
}
