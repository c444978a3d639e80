import { type Answer, failed, notFound, notSaved } from './answer.ts';
import { describeObject, describeOrg } from './describe.ts';
import type { Field } from './field.ts';
import { lookUp } from './look-up.ts';
import type { ObjectTable, StoredRecord } from './object-table.ts';
import type { Org } from './org.ts';
import { methodNotAllowed, type RestRequest, readObject, readSaveOptions } from './request.ts';
import { type Saved, saveRecord } from './save-record.ts';

/** The version since which an upsert of a known record answers 200 with its id; before, 204 without a body. */
const UPSERT_NAMES_RECORD = 46;

/**
 * Answers `sobjects`: describes objects, and creates, reads, updates and deletes single records by id
 * (`sobjects/Lead/00Q…`) or by external id (`sobjects/Lead/Leadsync_Key__c/main:4711`).
 */
export function answerSingleRecords(org: Org, request: RestRequest): Answer {
  const [, type, first, second] = request.path;
  if (type === undefined) return describeOrg(org);
  const table = org.findTable(type);
  if (table === undefined) return notFound();
  if (first === undefined)
    return request.method === 'POST'
      ? create(org, table, request)
      : methodNotAllowed(request.method, 'GET, POST');
  if (first === 'describe') return describeObject(org, table);
  if (second === undefined) return byId(org, table, first, request);
  return byExternalId(org, table, first, second, request);
}

/** Creates the record in the body of a request. */
function create(org: Org, table: ObjectTable, request: RestRequest): Answer {
  const saved = save(org, table, undefined, request);
  if ('status' in saved) return saved;
  if ('errors' in saved) return notSaved(saved.errors);
  const { Id } = saved.record;
  const location = `/services/data/v${request.version}.0/sobjects/${table.definition.name}/${Id}`;
  return { status: 201, headers: { location }, body: { id: Id, success: true, errors: [] } };
}

function byId(org: Org, table: ObjectTable, id: string, request: RestRequest): Answer {
  const record = table.get(id);
  if (record === undefined)
    return notFound(`Provided external ID field does not exist or is not accessible: ${id}`);
  if (request.method === 'PATCH') {
    const saved = save(org, table, record, request);
    if ('status' in saved) return saved;
    return 'errors' in saved ? notSaved(saved.errors) : { status: 204 };
  }
  return readOrDelete(org, table, record, request);
}

function byExternalId(
  org: Org,
  table: ObjectTable,
  fieldName: string,
  key: string,
  request: RestRequest,
): Answer {
  const field = org.visibleField(table, fieldName);
  if (field === undefined || !(field.externalId || field.idLookup))
    return notFound(`Provided external ID field does not exist or is not accessible: ${fieldName}`);
  const found = table.find(field, key).filter(({ IsDeleted }) => !IsDeleted);
  if (found.length > 1) return severalFound(table, found, request);
  if (request.method === 'PATCH') return upsert(org, table, field, key, request);
  const [record] = found;
  return record === undefined ? notFound() : readOrDelete(org, table, record, request);
}

function severalFound(table: ObjectTable, found: readonly StoredRecord[], { version }: RestRequest): Answer {
  const path = `/services/data/v${version}.0/sobjects/${table.definition.name}`;
  return { status: 300, body: found.map(({ Id }) => `${path}/${Id}`) };
}

function upsert(org: Org, table: ObjectTable, field: Field, key: string, request: RestRequest): Answer {
  const body = readObject(request.body);
  if (!('value' in body)) return body;
  if (Object.keys(body.value).some((name) => name.toLowerCase() === field.name.toLowerCase()))
    return failed(400, 'INVALID_FIELD', 'The external ID field must not be in the request body.');
  const options = readSaveOptions(org, request.headers);
  if ('status' in options) return options;
  const input = { ...body.value, [field.name]: key };
  const target = lookUp(org, table, field, key, input, options);
  if ('errors' in target) return notSaved(target.errors);
  if (target.existing === undefined && request.query.get('updateOnly') === 'true') return notFound();
  const saved = saveRecord(org, table, input, target.existing, options);
  if ('errors' in saved) return notSaved(saved.errors);
  if (!saved.created && request.version < UPSERT_NAMES_RECORD) return { status: 204 };
  const answer = { id: saved.record.Id, success: true, errors: [], created: saved.created };
  return { status: saved.created ? 201 : 200, body: answer };
}

function readOrDelete(org: Org, table: ObjectTable, record: StoredRecord, request: RestRequest): Answer {
  if (record.IsDeleted) return failed(404, 'ENTITY_IS_DELETED', 'entity is deleted', []);
  if (request.method === 'DELETE') {
    if (!org.mayWrite(table) || (table.definition.name === 'Lead' && !org.settings.mayDelete))
      return failed(403, 'INSUFFICIENT_ACCESS_OR_READONLY', 'insufficient access rights on object id', []);
    table.put({ ...record, IsDeleted: true });
    if (table.definition.name.includes('Permission')) org.applyPermissions();
    return { status: 204 };
  }
  if (request.method !== 'GET') return methodNotAllowed(request.method, 'GET, PATCH, DELETE');
  const wanted = request.query.get('fields')?.split(',');
  const fields = wanted?.map((name) => org.visibleField(table, name)) ?? org.visibleFields(table);
  const absent = fields.indexOf(undefined);
  if (absent !== -1)
    return failed(
      400,
      'INVALID_FIELD',
      `No such column '${wanted?.[absent]}' on entity '${table.definition.name}'.`,
    );
  return { status: 200, body: shownRecord(table, record, request.version, fields as Field[]) };
}

/** Returns a record as the REST API shows it: `attributes` first, then these fields, with null for what is empty. */
export function shownRecord(
  table: ObjectTable,
  record: StoredRecord,
  version: number,
  fields: readonly Field[],
): object {
  const type = table.definition.name;
  const url = `/services/data/v${version}.0/sobjects/${type}/${record.Id}`;
  return {
    attributes: { type, url },
    ...Object.fromEntries(fields.map(({ name }) => [name, record[name] ?? null])),
  };
}

function save(
  org: Org,
  table: ObjectTable,
  existing: StoredRecord | undefined,
  request: RestRequest,
): Saved | Answer {
  const body = readObject(request.body);
  if (!('value' in body)) return body;
  const options = readSaveOptions(org, request.headers);
  if ('status' in options) return options;
  const saved = saveRecord(org, table, body.value, existing, options);
  if ('record' in saved && table.definition.name.includes('Permission')) org.applyPermissions();
  return saved;
}
