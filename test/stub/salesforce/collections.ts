import { type Answer, failed, notFound, type RecordError, recordError } from './answer.ts';
import type { Field } from './field.ts';
import { lookUp, type Target } from './look-up.ts';
import { keyOf, type ObjectTable } from './object-table.ts';
import type { Org } from './org.ts';
import { isObject, methodNotAllowed, type RestRequest, readObject, readSaveOptions } from './request.ts';
import { type Saved, type SaveOptions, saveRecord } from './save-record.ts';

/** Maximum records of a request to sObject Collections. */
const MAXIMUM_RECORDS = 200;

type Input = Readonly<Record<string, unknown>>;

/**
 * Answers `composite/sobjects`: creates (POST), updates by id (PATCH), upserts by an external id
 * (PATCH `composite/sobjects/Lead/Leadsync_Key__c`) or deletes (DELETE) up to 200 records, and answers in the order of the request.
 */
export function answerCollections(org: Org, request: RestRequest): Answer {
  const [, , type, keyField] = request.path;
  if (request.method === 'DELETE' && type === undefined) return deleteRecords(org, request.query);
  const body = readObject(request.body);
  if (!('value' in body)) return body;
  const options = readSaveOptions(org, request.headers);
  if ('status' in options) return options;
  const records = body.value['records'];
  const allOrNone = body.value['allOrNone'] ?? false;
  if (!Array.isArray(records) || !records.every(isObject) || typeof allOrNone !== 'boolean')
    return failed(400, 'JSON_PARSER_ERROR', 'records must be a list of objects, and allOrNone a boolean');
  if (records.length > MAXIMUM_RECORDS) return tooMany();
  const how = { options, allOrNone };
  if (request.method === 'PATCH' && type !== undefined && keyField !== undefined)
    return upsertRecords(org, type, keyField, records, how);
  if (type === undefined && (request.method === 'POST' || request.method === 'PATCH'))
    return saveRecords(org, records, (record) => target(org, record, request.method), how);
  return methodNotAllowed(request.method, 'POST, PATCH, DELETE');
}

interface How {
  readonly options: SaveOptions;
  readonly allOrNone: boolean;
}

function upsertRecords(
  org: Org,
  type: string,
  keyFieldName: string,
  records: readonly Input[],
  how: How,
): Answer {
  const table = org.findTable(type);
  if (table === undefined) return notFound();
  const field = org.visibleField(table, keyFieldName);
  if (field === undefined || !(field.externalId || field.idLookup)) {
    const message = `Provided external ID field does not exist or is not accessible: ${keyFieldName}`;
    return org.questions.absentKeyField === 404 ? notFound(message) : failed(400, 'INVALID_FIELD', message);
  }
  const counts = Map.groupBy(records, (record) => keyOf(field, keyIn(record, field)));
  return saveRecords(
    org,
    records,
    (record) => {
      const error = faultOfRecord(table, field, record);
      if (error !== undefined) return { errors: [error] };
      const key = keyIn(record, field);
      if ((counts.get(keyOf(field, key))?.length ?? 0) > 1)
        return {
          errors: [
            recordError(org.questions.sameKeyTwice, `Duplicate external id specified: ${key}`, [field.name]),
          ],
        };
      return lookUp(org, table, field, key, record, how.options);
    },
    how,
  );
}

function faultOfRecord(table: ObjectTable, field: Field, record: Input): RecordError | undefined {
  const attributes = record['attributes'];
  const type = isObject(attributes) ? attributes['type'] : undefined;
  if (typeof type !== 'string' || type.toLowerCase() !== table.definition.name.toLowerCase())
    return recordError('INVALID_TYPE', `the record must have attributes of type ${table.definition.name}`);
  if (Object.keys(record).some((name) => name.toLowerCase() === 'id'))
    return recordError('INVALID_FIELD', 'cannot specify Id in an upsert by external id');
  return keyIn(record, field) === null
    ? recordError('MISSING_ARGUMENT', `${field.name} not specified`)
    : undefined;
}

function keyIn(record: Input, field: Field): string | null {
  const name = Object.keys(record).find((key) => key.toLowerCase() === field.name.toLowerCase());
  const value = name === undefined ? undefined : record[name];
  return value === undefined || value === null || value === '' ? null : String(value).trim();
}

/** Finds what a record of a plain create or update is about. */
function target(org: Org, record: Input, method: string): Target {
  const attributes = record['attributes'];
  const type = isObject(attributes) ? attributes['type'] : undefined;
  const table = typeof type === 'string' ? org.findTable(type) : undefined;
  if (table === undefined)
    return { errors: [recordError('INVALID_TYPE', `sObject type '${type}' is not supported.`)] };
  if (method === 'POST') return { table, existing: undefined };
  const id = record['id'] ?? record['Id'];
  if (typeof id !== 'string')
    return { errors: [recordError('MISSING_ARGUMENT', 'Id not specified in an update call')] };
  const existing = table.get(id);
  return existing === undefined
    ? { errors: [recordError('INVALID_CROSS_REFERENCE_KEY', 'invalid cross reference id')] }
    : { table, existing };
}

function saveRecords(
  org: Org,
  records: readonly Input[],
  targetOf: (record: Input) => Target,
  { options, allOrNone }: How,
): Answer {
  const outcomes = records.map((record): Saved => {
    const found = targetOf(record);
    if ('errors' in found) return found;
    const { id: _, Id: __, ...input } = record;
    return saveRecord(org, found.table, input, found.existing, options);
  });
  const unreadable = outcomes.find((outcome) => 'unreadable' in outcome && outcome.unreadable);
  const isUnreadable = unreadable !== undefined && org.questions.unreadableRecord === 'request';
  const failedOnes = outcomes.filter((outcome) => 'errors' in outcome);
  if (isUnreadable || (allOrNone && failedOnes.length > 0))
    for (const outcome of outcomes.toReversed()) if ('undo' in outcome) outcome.undo();
  if (isUnreadable && 'errors' in unreadable) {
    const [error] = unreadable.errors;
    return failed(400, error?.statusCode ?? 'JSON_PARSER_ERROR', error?.message ?? '');
  }
  const isRolledBack = allOrNone && failedOnes.length > 0;
  return { status: 200, body: outcomes.map((outcome) => resultOf(org, outcome, isRolledBack)) };
}

const ROLLED_BACK = recordError(
  'ALL_OR_NONE_OPERATION_ROLLED_BACK',
  'Record rolled back because not all records were valid and the request was using AllOrNone header',
);

function resultOf(org: Org, outcome: Saved, isRolledBack: boolean) {
  if ('errors' in outcome)
    return { success: false, errors: outcome.errors.map((error) => shown(org, error)), created: false };
  if (isRolledBack) return { success: false, errors: [ROLLED_BACK], created: false };
  return { id: outcome.record.Id, success: true, errors: [], created: outcome.created };
}

function shown(org: Org, { duplicateResult, ...error }: RecordError): RecordError {
  return duplicateResult !== undefined && org.questions.collectionDuplicates === 'named'
    ? { ...error, duplicateResult }
    : error;
}

function deleteRecords(org: Org, query: URLSearchParams): Answer {
  const ids = (query.get('ids') ?? '').split(',').filter((id) => id !== '');
  if (ids.length > MAXIMUM_RECORDS) return tooMany();
  const body = ids.map((id) => {
    const table = org.tables.find(({ definition }) => id.startsWith(definition.keyPrefix));
    const record = table?.get(id);
    if (table === undefined || record === undefined)
      return {
        success: false,
        errors: [recordError('INVALID_CROSS_REFERENCE_KEY', 'invalid cross reference id')],
      };
    if (record.IsDeleted)
      return { success: false, errors: [recordError('ENTITY_IS_DELETED', 'entity is deleted')] };
    table.put({ ...record, IsDeleted: true });
    return { id: record.Id, success: true, errors: [] };
  });
  return { status: 200, body };
}

function tooMany(): Answer {
  const message = `record limit reached. cannot submit more than ${MAXIMUM_RECORDS} records in this operation`;
  return failed(400, 'EXCEEDED_ID_LIMIT', message);
}
