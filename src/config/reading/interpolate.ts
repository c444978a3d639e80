import { didYouMean } from '../faults/suggest.ts';

/** The environment: what `${…}` is replaced from. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Why a `${…}` was not replaced. */
export interface InterpolationFault {
  readonly message: string;
  readonly hint: string;
  /** It is well written, and the environment has no such variable. */
  readonly unset: boolean;
}

/** What a text became when its `${…}` were replaced. */
export interface Interpolated {
  readonly text: string;
  /** Something of the environment, or a default, is in the text. */
  readonly replaced: boolean;
  /** Names of variables that were looked for and have no default that took their place, in order. */
  readonly variables: readonly string[];
  /** The text was one `${…}` and nothing else. */
  readonly whole: boolean;
  readonly faults: readonly InterpolationFault[];
}

// Takes an unclosed ${ to the end of the text, so that no text is looked through again and again.
const REFERENCE = /\$(?:(\$)|\{([^}]*)(\}?)|)/g;
const BODY = /^([A-Za-z_][A-Za-z0-9_]*)(?:(:-|:\?)([\s\S]*))?$/;

/**
 * Replaces `${NAME}`, `${NAME:-default}`, `${NAME:?message}` and `$$`. An empty variable counts as missing for the
 * default and the message, as in a shell. What was put in is not looked at again.
 */
export function interpolate(template: string, env: Environment): Interpolated {
  const faults: InterpolationFault[] = [];
  const variables: string[] = [];
  let replaced = false;
  const text = template.replace(REFERENCE, (_, dollar?: string, body?: string, close?: string) => {
    if (dollar !== undefined) return '$';
    if (body === undefined) {
      faults.push(misspelt('has a single $', 'write ${NAME} for a variable, or $$ for a dollar'));
    } else if (close === '') {
      faults.push(misspelt('has a ${ without its }', 'close it, or write $$ for a dollar'));
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

/** What a variable gave, or why it gave nothing; without its name where that was its default. */
interface LookedUp {
  readonly name?: string;
  readonly value: string | InterpolationFault;
}

function lookUp(body: string, env: Environment): LookedUp {
  const [, name, operator, more = ''] = BODY.exec(body) ?? [];
  if (name === undefined || (operator === ':-' && more.replaceAll('$$', '').includes('$'))) {
    const hint = 'write ${NAME}, ${NAME:-default} or ${NAME:?message}, without another ${…} inside';
    return { value: misspelt('has a ${…} that is not understood', hint) };
  }
  const value = Object.hasOwn(env, name) ? env[name] : undefined;
  if (operator === ':-') return value ? { name, value } : { value: more.replaceAll('$$', '$') };
  const message = `the variable ${name} is not set`;
  if (operator === ':?' && !value)
    return { name, value: { message, hint: more.trim() || `set ${name}`, unset: true } };
  if (value !== undefined) return { name, value };
  const hint = didYouMean(name, Object.keys(env)) || `set it, or give a default: \${${name}:-…}`;
  return { name, value: { message, hint, unset: true } };
}

function misspelt(message: string, hint: string): InterpolationFault {
  return { message, hint, unset: false };
}
