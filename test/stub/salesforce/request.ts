import type { IncomingHttpHeaders } from 'node:http';
import { type Answer, failed } from './answer.ts';
import type { Org } from './org.ts';
import type { SaveOptions } from './save-record.ts';

/** A request to the REST API, as far as its path and headers have been read. */
export interface RestRequest {
  readonly method: string;
  /** `67` of `/services/data/v67.0/`. */
  readonly version: number;
  /** The parts of the path behind the version, decoded. */
  readonly path: readonly string[];
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Returns the JSON object in the body of a request, or Salesforce's answer to one that holds none. */
export function readObject(body: string): { readonly value: Readonly<Record<string, unknown>> } | Answer {
  try {
    const value: unknown = JSON.parse(body);
    if (isObject(value)) return { value };
  } catch {
    // A body that is no JSON is no object either.
  }
  const message =
    'The HTTP entity body is required, but this request has no entity body or one that is no JSON object.';
  return failed(400, 'JSON_PARSER_ERROR', message);
}

/** Whether a value is an object of JSON. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns how the request's headers want records saved, or Salesforce's answer to an assignment rule that does not exist. */
export function readSaveOptions(org: Org, headers: IncomingHttpHeaders): SaveOptions | Answer {
  const rule = String(headers['sforce-auto-assign'] ?? 'TRUE');
  const duplicates = String(headers['sforce-duplicate-rule-header'] ?? '');
  const allowSave = /(?:^|[;,\s])allowSave\s*=\s*true(?:$|[;,\s])/i.test(duplicates);
  if (/^true$/i.test(rule)) return { allowSave, assign: true };
  if (/^false$/i.test(rule)) return { allowSave, assign: false };
  if (rule === org.settings.assignmentRule?.id) return { allowSave, assign: true };
  return failed(400, 'INVALID_ASSIGNMENT_RULE', `invalid assignment rule id: ${rule}`);
}

/** Returns the answer to a method that a resource does not have. */
export function methodNotAllowed(method: string, allowed: string): Answer {
  const message = `HTTP Method '${method}' not allowed. Allowed are ${allowed}`;
  return { ...failed(405, 'METHOD_NOT_ALLOWED', message), headers: { allow: allowed } };
}
