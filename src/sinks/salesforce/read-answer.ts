import type { Answer } from '../http/api-server.ts';

/** A Salesforce error, about a whole request or one record. */
export interface SalesforceError {
  /** `errorCode` of a request, `statusCode` of a record. */
  readonly code: string;
  /** For people. Often repeats the value at fault. */
  readonly message: string;
  readonly fields: readonly string[];
  /** The records that a duplicate rule found. */
  readonly matches: readonly { readonly object: string; readonly id: string }[];
}

/** What became of one record of a request. */
export type RecordResult =
  | { readonly id: string }
  /** Empty if Salesforce says only that the record failed. */
  | { readonly errors: readonly SalesforceError[] };

type Json = Readonly<Record<string, unknown>>;

const ID = /^[0-9A-Za-z]{15}(?:[0-9A-Za-z]{3})?$/;

/** Parses an answer as a JSON object. Returns undefined for anything else, such as a proxy's error page. */
export function readBody(answer: Answer): Json | undefined {
  return objectOf(parse(answer));
}

/** Returns the errors in an answer to a whole request, which is a list, or an object from the token endpoint. Empty if there are none. */
export function readErrors(answer: Answer): readonly SalesforceError[] {
  const body = parse(answer);
  const oauth = objectOf(body)?.['error'];
  if (typeof oauth === 'string') return [{ code: oauth, message: '', fields: [], matches: [] }];
  return errorsIn(body).filter(({ code }) => code !== '');
}

/** Returns the results of `count` records in the order of the request; undefined if the answer does not have a result for each. */
export function readResults(answer: Answer, count: number): readonly RecordResult[] | undefined {
  const body = parse(answer);
  if (!Array.isArray(body) || body.length !== count) return undefined;
  return body.map((result) => {
    const { id, success, errors } = objectOf(result) ?? {};
    if (success === true && typeof id === 'string' && ID.test(id)) return { id };
    return { errors: errorsIn(errors) };
  });
}

/** Returns the result in an answer about a single record; undefined if it contains none. */
export function readSingle(answer: Answer): RecordResult | undefined {
  if (answer.httpStatus === 400) return { errors: readErrors(answer) };
  const { id, success } = readBody(answer) ?? {};
  return success === true && typeof id === 'string' && ID.test(id) ? { id } : undefined;
}

function errorsIn(list: unknown): readonly SalesforceError[] {
  return listOf(list).map(({ statusCode, errorCode, message, fields, duplicateResult }) => ({
    code: textOf(statusCode) ?? textOf(errorCode) ?? '',
    message: textOf(message) ?? '',
    fields: Array.isArray(fields) ? fields.filter((field) => typeof field === 'string') : [],
    matches: listOf(objectOf(duplicateResult)?.['matchResults']).flatMap(matchesIn),
  }));
}

function matchesIn({ entityType, matchRecords }: Json): SalesforceError['matches'] {
  return listOf(matchRecords).flatMap((match) => {
    const record = objectOf(match['record']);
    const [id, object] = [record?.['Id'], textOf(entityType)];
    return typeof id === 'string' && ID.test(id) && object !== undefined ? [{ object, id }] : [];
  });
}

function parse({ text }: Answer): unknown {
  try {
    return JSON.parse(text ?? '');
  } catch {
    return undefined;
  }
}

function objectOf(value: unknown): Json | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : undefined;
}

function listOf(value: unknown): readonly Json[] {
  if (!Array.isArray(value)) return [];
  return value.map(objectOf).filter((one) => one !== undefined);
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
