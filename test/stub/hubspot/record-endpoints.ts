import { z } from 'zod';
import type { Account } from './account.ts';
import { ApiError, invalid } from './api-error.ts';
import { type ApiAnswer, type ApiRequest, parseBody, propertyValues } from './api-request.ts';
import { wantedAssociations } from './batch-endpoints.ts';
import { findRecord } from './find-record.ts';
import { findObjectType, type ObjectName } from './object-types.ts';
import { printRecord } from './print-record.ts';
import { emailsOf, type StoredRecord } from './records.ts';
import { Writes } from './writes.ts';

const creation = z.strictObject({
  properties: propertyValues,
  associations: wantedAssociations.optional(),
  objectWriteTraceId: z.string().optional(),
});
const change = z.strictObject({ properties: propertyValues, objectWriteTraceId: z.string().optional() });
const erasure = z.strictObject({ objectId: z.string().min(1), idProperty: z.string().optional() });
const merger = z.strictObject({ primaryObjectId: z.string(), objectIdToMerge: z.string() });

/** `POST /crm/objects/…/contacts` */
export function createRecord(account: Account, object: ObjectName, { body }: ApiRequest): ApiAnswer {
  const { properties, associations } = parseBody(creation, body);
  const writes = new Writes(account, object);
  return { status: 201, body: printRecord(writes.store(writes.create(properties, associations))) };
}

/** `GET …/contacts/ID` */
export function readRecord(account: Account, object: ObjectName, request: ApiRequest): ApiAnswer {
  const record = theRecord(account, object, request);
  const properties = listed(request.query, 'properties');
  const linked = listed(request.query, 'associations').flatMap((name) => {
    const to = findObjectType(name)?.name;
    const ids = to ? account.associations.of(object, record.id, to) : [];
    const type = `${object.slice(0, -1)}_to_${to?.slice(0, -1)}`;
    return to && ids.length > 0 ? [[to, { results: ids.map((id) => ({ id, type })) }] as const] : [];
  });
  const associations = linked.length === 0 ? {} : { associations: Object.fromEntries(linked) };
  return { status: 200, body: { ...printRecord(record, properties), ...associations } };
}

/** `GET …/contacts`: a page of all records, oldest first. */
export function listRecords(account: Account, object: ObjectName, { query }: ApiRequest): ApiAnswer {
  const limit = Math.min(Number(query.get('limit') ?? 10), 100);
  const after = Number(query.get('after') ?? 0);
  const { all } = account.records[object];
  const properties = listed(query, 'properties');
  const results = all.slice(after, after + limit).map((record) => printRecord(record, properties));
  const next = after + limit;
  const paging = next < all.length ? { paging: { next: { after: String(next) } } } : {};
  return { status: 200, body: { results, ...paging } };
}

/** `PATCH …/contacts/ID` */
export function updateRecord(account: Account, object: ObjectName, request: ApiRequest): ApiAnswer {
  const { properties } = parseBody(change, request.body);
  const writes = new Writes(account, object);
  const write = writes.update(theRecord(account, object, request), properties);
  return { status: 200, body: printRecord(writes.store(write)) };
}

/** `DELETE …/contacts/ID`: 204, whether or not there was such a record. */
export function deleteRecord(account: Account, object: ObjectName, { path }: ApiRequest): ApiAnswer {
  const record = account.records[object].byId(path[1] ?? '');
  if (record) account.delete(object, record.id);
  return { status: 204 };
}

/** `POST …/contacts/gdpr-delete`: removes a contact for good, by id or e-mail address. */
export function eraseContact(account: Account, { body }: ApiRequest): ApiAnswer {
  const { objectId, idProperty } = parseBody(erasure, body);
  if (idProperty !== undefined && idProperty !== 'email')
    throw invalid(`Contacts cannot be deleted by property ${idProperty}.`);
  const record = findRecord(account, 'contacts', objectId, idProperty);
  if (!record && idProperty === undefined) throw new ApiError(404, 'OBJECT_NOT_FOUND', 'resource not found');
  const emails = record ? emailsOf(record.properties) : [objectId.toLowerCase()];
  if (account.open.erasedStaysOut) for (const email of emails) account.erasedEmails.add(email);
  if (record) account.delete('contacts', record.id);
  return { status: 204 };
}

/** `POST …/contacts/merge` */
export function mergeContacts(account: Account, { body }: ApiRequest): ApiAnswer {
  const { primaryObjectId, objectIdToMerge } = parseBody(merger, body);
  return { status: 200, body: printRecord(account.merge(primaryObjectId, objectIdToMerge)) };
}

function theRecord(account: Account, object: ObjectName, { path, query }: ApiRequest): StoredRecord {
  const idProperty = query.get('idProperty') ?? undefined;
  if (idProperty !== undefined && !account.properties[object].find(idProperty)?.hasUniqueValue)
    throw invalid(`Property ${idProperty} is not unique and cannot be used as idProperty.`);
  const findsSecondary = account.open.readFindsSecondaryEmail;
  const record = findRecord(account, object, path[1] ?? '', idProperty, findsSecondary);
  if (!record) throw new ApiError(404, 'OBJECT_NOT_FOUND', 'resource not found');
  return record;
}

function listed(query: URLSearchParams, name: string): string[] {
  return query
    .getAll(name)
    .flatMap((value) => value.split(','))
    .filter((value) => value !== '');
}
