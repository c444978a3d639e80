import { z } from 'zod';
import type { Account } from './account.ts';
import { ApiError } from './api-error.ts';
import { type ApiAnswer, type ApiRequest, batchOf, checkSize, parseBody } from './api-request.ts';
import { batchAnswer } from './batch-endpoints.ts';
import type { ObjectName } from './object-types.ts';
import type { Property, PropertyGroup } from './properties.ts';

const MAX_PROPERTIES = 100;

const group = z.strictObject({
  name: z.string().min(1),
  label: z.string().min(1),
  displayOrder: z.int().optional(),
});
const option = z.strictObject({
  label: z.string(),
  value: z.string(),
  hidden: z.boolean(),
  displayOrder: z.int().optional(),
  description: z.string().optional(),
});
const property = z.strictObject({
  name: z.string(),
  label: z.string().min(1),
  type: z.enum(['string', 'number', 'date', 'datetime', 'enumeration', 'bool']),
  fieldType: z.string(),
  groupName: z.string(),
  description: z.string().optional(),
  options: z.array(option).optional(),
  hasUniqueValue: z.boolean().optional(),
  formField: z.boolean().optional(),
  hidden: z.boolean().optional(),
  displayOrder: z.int().optional(),
});
const properties = batchOf(property);

/** Answers a request to `/crm/properties/VERSION/OBJECT…`; undefined if there is no such endpoint. */
export function answerProperties(
  account: Account,
  object: ObjectName,
  request: ApiRequest,
): ApiAnswer | undefined {
  const { method, path, body } = request;
  const [name = '', rest = ''] = path.slice(1);
  if (name === 'groups') return answerGroups(account, object, request);
  if (method === 'POST' && name === 'batch' && rest === 'create') return createMany(account, object, body);
  if (path.length === 1 && method === 'POST')
    return { status: 201, body: print(account, account.properties[object].create(newProperty(body))) };
  if (path.length === 1 && method === 'GET')
    return {
      status: 200,
      body: { results: account.properties[object].all.map((one) => print(account, one)) },
    };
  if (path.length !== 2) return undefined;
  const found = account.properties[object].find(name);
  if (method === 'GET') {
    if (!found) throw new ApiError(404, 'OBJECT_NOT_FOUND', `Property "${name}" does not exist`);
    return { status: 200, body: print(account, found) };
  }
  if (method !== 'DELETE') return undefined;
  if (found?.hubspotDefined) throw new ApiError(400, 'VALIDATION_ERROR', `Property "${name}" is read only.`);
  account.properties[object].delete(name);
  return { status: 204 };
}

function answerGroups(
  account: Account,
  object: ObjectName,
  { method, path, body }: ApiRequest,
): ApiAnswer | undefined {
  const own = account.properties[object];
  if (path.length === 2 && method === 'GET')
    return { status: 200, body: { results: own.groups.map(printGroup) } };
  if (path.length === 2 && method === 'POST') {
    const { displayOrder = -1, ...wanted } = parseBody(group, body);
    return { status: 201, body: printGroup(own.createGroup({ ...wanted, displayOrder })) };
  }
  if (path.length === 3 && method === 'DELETE') {
    own.deleteGroup(path[2] ?? '');
    return { status: 204 };
  }
  if (path.length !== 3 || method !== 'GET') return undefined;
  const found = own.findGroup(path[2] ?? '');
  if (!found) throw new ApiError(404, 'OBJECT_NOT_FOUND', `Property group "${path[2]}" does not exist`);
  return { status: 200, body: printGroup(found) };
}

/** Each property has a fate of its own, as the 207 of this endpoint says. */
function createMany(account: Account, object: ObjectName, body: unknown): ApiAnswer {
  const startedAt = account.clock.now();
  const { inputs } = parseBody(properties, body);
  checkSize(inputs, MAX_PROPERTIES);
  const results: object[] = [];
  const errors: object[] = [];
  for (const input of inputs) {
    try {
      results.push(print(account, account.properties[object].create(newProperty(input))));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      errors.push(error.entry(undefined));
    }
  }
  return batchAnswer(account, startedAt, 201, results, errors);
}

function newProperty(body: unknown) {
  const {
    name,
    label,
    type,
    fieldType,
    groupName,
    options = [],
    hasUniqueValue = false,
  } = parseBody(property, body);
  return { name, label, type, fieldType, groupName, options, hasUniqueValue };
}

function print(account: Account, { readOnly, ...own }: Property): object {
  const at = account.clock.now();
  return {
    ...own,
    options: own.options.map((one, displayOrder) => ({ ...one, displayOrder, hidden: false })),
    description: '',
    displayOrder: -1,
    calculated: false,
    externalOptions: own.name === 'hubspot_owner_id',
    archived: false,
    hidden: false,
    formField: !readOnly,
    createdAt: at,
    updatedAt: at,
    modificationMetadata: {
      archivable: !own.hubspotDefined,
      readOnlyDefinition: own.hubspotDefined,
      readOnlyOptions: own.hubspotDefined,
      readOnlyValue: readOnly,
    },
  };
}

function printGroup(one: PropertyGroup): object {
  return { ...one, archived: false };
}
