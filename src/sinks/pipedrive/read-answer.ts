import { type Json, listOf, objectOf, textOf } from '../http/json-answer.ts';

/** A successful answer. */
export interface Success {
  /** The record, or the items of a list. */
  readonly data: Json | readonly Json[];
  /** The whole answer, which contains the cursor of the next page. */
  readonly body: Json;
}

/** What Pipedrive says about a request that it did not accept. */
export interface PipedriveFault {
  /** Pipedrive's text, which may repeat values of the lead. */
  readonly message: string;
  /** Pipedrive's code: `feature_capping_deals_limit`, `ERR_SCHEMA_VALIDATION_FAILED`. */
  readonly code: string;
  /** The parameter at fault, or the code of the custom field. */
  readonly parameter: string | undefined;
  /** The code of a custom field that Pipedrive does not know. */
  readonly unknownField: string | undefined;
}

const CODE = /[0-9a-f]{40}/;

/** Parses a successful answer. Returns undefined if it does not report success, or contains no data. */
export function readSuccess(body: Json | undefined): Success | undefined {
  if (body?.['success'] !== true) return undefined;
  const { data } = body;
  if (Array.isArray(data)) return { data: listOf(data), body };
  const record = objectOf(data);
  if (record) return { data: record, body };
  if (data === true) return { data: {}, body }; // a deleted note
  // An empty list of v1 has no data, but it has a pagination object.
  return data === null && paginationOf(body) ? { data: [], body } : undefined;
}

/** Parses the answer to a request that Pipedrive did not accept. */
export function readFault(body: Json | undefined): PipedriveFault {
  const texts = [body?.['error'], body?.['error_info']].filter((text) => typeof text === 'string');
  const message = texts.join(' ');
  const named = textOf(body?.['field_code']) ?? CODE.exec(message)?.[0];
  const isUnknown = named !== undefined && /\bis not allowed\b/.test(message);
  return {
    message,
    code: textOf(body?.['code']) ?? '',
    parameter:
      named ?? /"(\w+)"/.exec(message)?.[1] ?? /(?:Validation failed: |; )(\w+)[^:]*:/.exec(message)?.[1],
    unknownField: isUnknown ? named : undefined,
  };
}

/** Returns the cursor of the next page of a list, as a query parameter; undefined on the last page. */
export function nextPage(body: Json): Readonly<Record<string, string>> | undefined {
  const cursor = objectOf(body['additional_data'])?.['next_cursor'];
  if (typeof cursor === 'string' && cursor !== '') return { cursor };
  const { next_start: start, more_items_in_collection: hasMore } = paginationOf(body) ?? {};
  return hasMore === true && typeof start === 'number' ? { start: String(start) } : undefined;
}

function paginationOf(body: Json): Json | undefined {
  return objectOf(objectOf(body['additional_data'])?.['pagination']);
}

/** Returns the id of a record as a string; undefined if it has none. */
export function idOf({ id }: Json): string | undefined {
  return typeof id === 'number' || (typeof id === 'string' && id !== '') ? String(id) : undefined;
}
