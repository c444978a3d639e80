import type { Answer } from './api-server.ts';

/** A JSON object in an answer. */
export type Json = Readonly<Record<string, unknown>>;

/** Parses an answer as JSON. Returns undefined for anything else, such as a proxy's error page. */
export function jsonIn({ text }: Pick<Answer, 'text'>): unknown {
  try {
    return JSON.parse(text ?? '');
  } catch {
    return undefined;
  }
}

/** Parses an answer as a JSON object. Returns undefined for anything else. */
export function readBody(answer: Pick<Answer, 'text'>): Json | undefined {
  return objectOf(jsonIn(answer));
}

/** Returns the value if it is a JSON object; undefined otherwise. */
export function objectOf(value: unknown): Json | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : undefined;
}

/** Returns the objects of a list; an empty list for any other value. */
export function listOf(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value.map(objectOf).filter((one) => one !== undefined) : [];
}

/** Returns the value if it is a string; undefined otherwise. */
export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** Returns the strings of a list; an empty list for any other value. */
export function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
}
