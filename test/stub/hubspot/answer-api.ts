import type { Account } from './account.ts';
import { answerAccountInfo, answerOwners, answerPipelines } from './account-endpoints.ts';
import { ApiError, invalid, missingScopes } from './api-error.ts';
import type { ApiAnswer, ApiRequest } from './api-request.ts';
import { associate, listAssociations, readAssociations } from './association-endpoints.ts';
import { batchArchive, batchCreate, batchRead, batchUpdate, batchUpsert } from './batch-endpoints.ts';
import { findObjectType, type ObjectName, objectTypes } from './object-types.ts';
import { answerProperties } from './property-endpoints.ts';
import {
  createRecord,
  deleteRecord,
  eraseContact,
  listRecords,
  mergeContacts,
  readRecord,
  updateRecord,
} from './record-endpoints.ts';
import { searchRecords } from './search-endpoint.ts';

/** The version of the API that the stub speaks; it serves the paths of v3 and v4 by the same endpoints. */
const API_VERSION = '2026-09';

type Area = 'objects' | 'properties' | 'pipelines' | 'owners' | 'associations' | 'account-info';

const areas: readonly [prefix: string, area: Area][] = [
  [`/crm/objects/${API_VERSION}/`, 'objects'],
  ['/crm/v3/objects/', 'objects'],
  ['/crm/v4/objects/', 'objects'],
  [`/crm/properties/${API_VERSION}/`, 'properties'],
  ['/crm/v3/properties/', 'properties'],
  [`/crm/pipelines/${API_VERSION}/`, 'pipelines'],
  ['/crm/v3/pipelines/', 'pipelines'],
  [`/crm/owners/${API_VERSION}`, 'owners'],
  ['/crm/v3/owners', 'owners'],
  [`/crm/associations/${API_VERSION}/`, 'associations'],
  ['/crm/v4/associations/', 'associations'],
  [`/account-info/${API_VERSION}/`, 'account-info'],
  ['/account-info/v3/', 'account-info'],
];

/** Whether a path is that of a search, which has a limit of its own. */
export function isSearch(path: string): boolean {
  return path.endsWith('/search');
}

/** Carries out a request. @throws ApiError for every answer other than success */
export function answerApi(
  account: Account,
  method: string,
  url: URL,
  authorization: string | undefined,
  body: unknown,
): ApiAnswer {
  if (account.token === undefined || authorization !== `Bearer ${account.token}`)
    throw new ApiError(
      401,
      'INVALID_AUTHENTICATION',
      'Authentication credentials not found. This API supports OAuth 2.0 authentication and you can find more details at https://developers.hubspot.com/docs/methods/auth/oauth-overview',
    );
  const [prefix, area] = areas.find(([start]) => url.pathname.startsWith(start)) ?? [];
  const path = url.pathname
    .slice(prefix?.length)
    .split('/')
    .filter((part) => part !== '')
    .map(decodeURIComponent);
  const request = { method, path, query: url.searchParams, body };
  const answer = area && answerArea(account, area, request);
  if (!answer) throw new ApiError(404, 'OBJECT_NOT_FOUND', 'resource not found');
  return answer;
}

function answerArea(account: Account, area: Area, request: ApiRequest): ApiAnswer | undefined {
  const { method, path } = request;
  if (area === 'account-info') return answerAccountInfo(account, request);
  if (area === 'owners') {
    needsOneOf(account, ['crm.objects.owners.read']);
    return answerOwners(account, request);
  }
  const object = theObject(account, path[0] ?? '');
  if (area === 'objects') return answerObjects(account, object, request);
  if (area === 'associations') return answerAssociations(account, object, request);
  const scopes = scopesOf(object, 'schemas');
  const isWrite = method !== 'GET';
  needsOneOf(
    account,
    isWrite ? [scopes.write] : [scopes.read, scopes.write, scopesOf(object, 'objects').read],
  );
  return area === 'properties'
    ? answerProperties(account, object, request)
    : answerPipelines(object, request);
}

const batches = {
  create: batchCreate,
  update: batchUpdate,
  upsert: batchUpsert,
  read: batchRead,
  archive: batchArchive,
};

function answerObjects(account: Account, object: ObjectName, request: ApiRequest): ApiAnswer | undefined {
  const { method, path, body } = request;
  const [, second = '', third = '', fourth = ''] = path;
  const scopes = scopesOf(object, 'objects');
  const isRead = method === 'GET' || second === 'search' || third === 'read';
  needsOneOf(account, [isRead ? scopes.read : scopes.write]);
  if (method === 'POST') {
    if (path.length === 1) return createRecord(account, object, request);
    if (second === 'search') return searchRecords(account, object, request);
    if (second === 'batch') return batches[third as keyof typeof batches]?.(account, object, body);
    if (object === 'contacts' && second === 'gdpr-delete') return eraseContact(account, request);
    if (object === 'contacts' && second === 'merge') return mergeContacts(account, request);
    return undefined;
  }
  if (method === 'GET' && third === 'associations')
    return listAssociations(account, object, second, theObject(account, fourth));
  if (method === 'GET' && path.length === 1) return listRecords(account, object, request);
  if (path.length !== 2) return undefined;
  if (method === 'GET') return readRecord(account, object, request);
  if (method === 'PATCH') return updateRecord(account, object, request);
  return method === 'DELETE' ? deleteRecord(account, object, request) : undefined;
}

function answerAssociations(
  account: Account,
  from: ObjectName,
  { method, path, body }: ApiRequest,
): ApiAnswer | undefined {
  const to = theObject(account, path[1] ?? '');
  const call = [method, ...path.slice(2)].join(' ');
  needsOneOf(account, [scopesOf(from, 'objects')[call === 'POST batch read' ? 'read' : 'write']]);
  if (call === 'POST batch associate default') return associate(account, from, to, body);
  return call === 'POST batch read' ? readAssociations(account, from, to, body) : undefined;
}

function theObject(account: Account, name: string): ObjectName {
  const type = findObjectType(name);
  if (!type) throw invalid(`Unable to infer object type from: ${name}`);
  if (!account.objects.has(type.name)) throw new ApiError(404, 'OBJECT_NOT_FOUND', 'resource not found');
  return type.name;
}

function scopesOf(object: ObjectName, part: 'objects' | 'schemas'): { read: string; write: string } {
  const name = `crm.${part}.${objectTypes[object].scopesOf}`;
  return { read: `${name}.read`, write: `${name}.write` };
}

function needsOneOf(account: Account, scopes: readonly string[]): void {
  if (!scopes.some((scope) => account.scopes.has(scope))) throw missingScopes(scopes);
}
