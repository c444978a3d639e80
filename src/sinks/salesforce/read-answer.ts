import type { Answer } from '../http/api-server.ts';
import { type Json, jsonIn, listOf, objectOf, readBody, textOf, textsOf } from '../http/json-answer.ts';

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

const ID = /^[0-9A-Za-z]{15}(?:[0-9A-Za-z]{3})?$/;

/** Returns the errors in an answer to a whole request, which is a list, or an object from the token endpoint. Empty if there are none. */
export function readErrors(answer: Answer): readonly SalesforceError[] {
  const body = jsonIn(answer);
  const oauth = objectOf(body)?.['error'];
  if (typeof oauth === 'string') return [{ code: oauth, message: '', fields: [], matches: [] }];
  return errorsIn(body).filter(({ code }) => code !== '');
}

/** Returns the results of `count` records in the order of the request; undefined if the answer does not have a result for each. */
export function readResults(answer: Answer, count: number): readonly RecordResult[] | undefined {
  const body = jsonIn(answer);
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
    fields: textsOf(fields),
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
