import type { IncomingHttpHeaders } from 'node:http';
import { type Body, isObject } from './parameters.ts';
import { invalidV2, Refusal } from './vendor-answer.ts';

/** Returns the JSON object of a request. @throws Refusal 400 if a request that needs one has none */
export function bodyOf(method: string, headers: IncomingHttpHeaders, body: unknown): Body {
  if (method !== 'POST' && method !== 'PATCH') return {};
  const isJson = headers['content-type']?.split(';')[0]?.trim().toLowerCase() === 'application/json';
  if (!isJson || !isObject(body)) throw new Refusal(invalidV2(['body: must be a JSON object']));
  return body;
}

/** Returns the parsed JSON; the text if it is none, and undefined without any. */
export function parsed(text: string): unknown {
  if (text === '') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
