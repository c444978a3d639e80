import { type Answer, AnswerTooLong, type CallLimits } from '../http/api-server.ts';
import type { Values } from './enquiry.ts';
import { blamesValue } from './judge-answer.ts';
import { judgeRecord, type RecordFault, unnamed } from './judge-record.ts';
import { KEY, type SalesforceOptions } from './options.ts';
import { type RecordResult, readErrors, readResults, readSingle } from './read-answer.ts';
import { halvesOf } from './read-leads.ts';
import { API, type SalesforceApi } from './salesforce-api.ts';

/** Maximum number of records per request. */
export const MAX_RECORDS = 200;

/** A record to write, with what it belongs to. */
export interface Writing<Of> {
  readonly of: Of;
  readonly record: Values;
}

/** What became of a record. */
export type Written = { readonly id: string } | { readonly fault: RecordFault };

/** How records are written. */
export interface WriteOptions {
  readonly limits: CallLimits;
  readonly headers: Readonly<Record<string, string>>;
}

/** Method and path of the request that creates or updates leads by their keys. */
export const UPSERT = { method: 'PATCH', path: `${API}/composite/sobjects/Lead/${KEY}` } as const;
/** Method and path of the request that updates leads by their ids. */
export const UPDATE = { method: 'PATCH', path: `${API}/composite/sobjects` } as const;

/**
 * Writes records, at most 200 per request. After each request, passes what became of each record to `settle`. If Salesforce refuses a request as
 * a whole because of a value in it, splits the request until the record at fault is alone. Also splits a request whose answer is too long.
 * @throws SinkUnavailable
 */
export async function writeRecords<Of>(
  api: SalesforceApi,
  to: typeof UPSERT | typeof UPDATE,
  writings: readonly Writing<Of>[],
  { limits, headers }: WriteOptions,
  settle: (of: Of, written: Written) => void,
): Promise<void> {
  const waiting: (readonly Writing<Of>[])[] = [];
  for (let at = 0; at < writings.length; at += MAX_RECORDS)
    waiting.push(writings.slice(at, at + MAX_RECORDS));
  for (let part = waiting.shift(); part; part = waiting.shift()) {
    const body = collection(part.map(({ record }) => record));
    const request = { ...to, headers, body };
    const answer = await api.call(request, { ...limits, sendsLeads: true }).catch(divisible(part));
    const results = answer?.httpStatus === 200 ? readResults(answer, part.length) : undefined;
    if (results !== undefined) {
      const named = inOrder(part, results) ? results : [];
      for (const [at, { of }] of part.entries()) settle(of, writtenOf(api, named[at]));
    } else if (answer !== undefined && !blamesValue(answer)) throw api.failure(answer);
    else if (answer === undefined || part.length > 1) waiting.unshift(...halvesOf(part));
    else for (const { of } of part) settle(of, writtenOf(api, { errors: readErrors(answer) }));
  }
}

/** Returns a function that discards the failure of a request whose answer is too long, if the request can be split. */
function divisible(part: readonly unknown[]): (error: unknown) => Answer | undefined {
  return (error) => {
    if (error instanceof AnswerTooLong && part.length > 1) return undefined;
    throw error;
  };
}

/** Creates or updates one lead, in a request whose answer names the records that a duplicate rule found. @throws SinkUnavailable */
export async function writeSingle(
  api: SalesforceApi,
  { [KEY]: key, ...values }: Values,
  { limits, headers }: WriteOptions,
): Promise<Written> {
  const path = `${API}/sobjects/Lead/${KEY}/${encodeURIComponent(String(key))}`;
  const answer = await api.call(
    { method: 'PATCH', path, headers, body: values },
    { ...limits, sendsLeads: true },
  );
  const result = readSingle(answer);
  if (result === undefined || ('errors' in result && result.errors.length === 0)) throw api.failure(answer);
  return writtenOf(api, result);
}

/** Returns the body of a request with several records. */
export function collection(records: readonly Values[]): object {
  return {
    allOrNone: false,
    records: records.map((record) => ({ attributes: { type: 'Lead' }, ...record })),
  };
}

/** The header that makes Salesforce save a lead if a duplicate rule alerts but does not block. */
export const ALLOW_DUPLICATES = { 'sforce-duplicate-rule-header': 'allowSave=true' };

/**
 * Returns the headers that select the assignment rule for new leads, and say whether Salesforce saves a lead if a duplicate rule alerts but does
 * not block.
 */
export function saveHeaders(
  assignment: NonNullable<SalesforceOptions['assignment']>,
  savesDuplicates: boolean,
): Readonly<Record<string, string>> {
  return {
    'sforce-auto-assign': typeof assignment === 'boolean' ? String(assignment).toUpperCase() : assignment,
    ...(savesDuplicates ? ALLOW_DUPLICATES : {}),
  };
}

/** Whether each result of an update has the id of the record in the same position. New leads have no id to compare. */
function inOrder<Of>(writings: readonly Writing<Of>[], results: readonly RecordResult[]): boolean {
  return writings.every(({ record: { id } }, at) => {
    const result = results[at];
    return id === undefined || result === undefined || !('id' in result) || isSameId(result.id, String(id));
  });
}

/** Whether two ids name the same record. An id of 15 characters is an id of 18 characters without its checksum. */
function isSameId(one: string, other: string): boolean {
  return one.slice(0, 15) === other.slice(0, 15);
}

function writtenOf({ addressee }: SalesforceApi, result: RecordResult | undefined): Written {
  if (result === undefined) return { fault: unnamed(addressee, 200) };
  return 'id' in result ? result : { fault: judgeRecord(result.errors, addressee) };
}
