import { z } from 'zod';
import type { Account } from './account.ts';
import { ApiError, invalid } from './api-error.ts';
import { type ApiAnswer, batchOf, checkSize, parseBody } from './api-request.ts';
import { type AssociationType, defaultType } from './associations.ts';
import { batchAnswer } from './batch-endpoints.ts';
import { type ObjectName, objectTypes } from './object-types.ts';

const MAX_LINKS = 2_000;
const MAX_READS = 1_000;

const id = z.strictObject({ id: z.string().min(1) });
const links = batchOf(z.strictObject({ from: id, to: id }));
const reads = batchOf(z.strictObject({ id: z.string().min(1), after: z.string().optional() }));

/** `POST /crm/associations/…/FROM/TO/batch/associate/default` */
export function associate(account: Account, from: ObjectName, to: ObjectName, body: unknown): ApiAnswer {
  const startedAt = account.clock.now();
  const { inputs } = parseBody(links, body);
  checkSize(inputs, MAX_LINKS);
  const [there, back] = [defaultType(from, to), defaultType(to, from)];
  if (!there || !back) throw invalid(`There is no association between ${from} and ${to}.`);
  const results: object[] = [];
  const errors: object[] = [];
  for (const input of inputs) {
    const first = account.records[from].byId(input.from.id);
    const second = account.records[to].byId(input.to.id);
    if (!first) errors.push(missing('FROM', from, input.from.id));
    else if (!second) errors.push(missing('TO', to, input.to.id));
    else {
      account.associations.link(from, first.id, to, second.id);
      results.push(printed(there, first.id, second.id), printed(back, second.id, first.id));
    }
  }
  return batchAnswer(account, startedAt, 200, results, errors);
}

/** `POST /crm/associations/…/FROM/TO/batch/read` */
export function readAssociations(
  account: Account,
  from: ObjectName,
  to: ObjectName,
  body: unknown,
): ApiAnswer {
  const startedAt = account.clock.now();
  const { inputs } = parseBody(reads, body);
  checkSize(inputs, MAX_READS);
  const results: object[] = [];
  const errors: object[] = [];
  for (const input of inputs) {
    const linked = listLinks(account, from, input.id, to);
    if (linked.length > 0) results.push({ from: { id: input.id }, to: linked });
    else errors.push(noLinks(from, input.id, to));
  }
  return batchAnswer(account, startedAt, 200, results, errors);
}

/** `GET /crm/objects/…/FROM/ID/associations/TO` */
export function listAssociations(
  account: Account,
  from: ObjectName,
  fromId: string,
  to: ObjectName,
): ApiAnswer {
  if (!account.records[from].byId(fromId))
    throw new ApiError(404, 'OBJECT_NOT_FOUND', `No ${singular(from)} with ID ${fromId} exists`);
  return { status: 200, body: { results: listLinks(account, from, fromId, to) } };
}

function listLinks(account: Account, from: ObjectName, fromId: string, to: ObjectName): object[] {
  const id = account.records[from].byId(fromId)?.id ?? fromId;
  const typeId = defaultType(from, to)?.typeId;
  return account.associations.of(from, id, to).map((toObjectId) => ({
    toObjectId,
    associationTypes: [{ category: 'HUBSPOT_DEFINED', typeId, label: null }],
  }));
}

function printed(type: AssociationType, fromId: string, toId: string): object {
  return {
    from: { id: fromId },
    to: { id: toId },
    associationSpec: { associationCategory: 'HUBSPOT_DEFINED', associationTypeId: type.typeId },
  };
}

function missing(side: 'FROM' | 'TO', object: ObjectName, id: string): object {
  return new ApiError(404, 'OBJECT_NOT_FOUND', `No ${singular(object)} with ID ${id} exists`, {
    subCategory: `crm.associations.${side}_OBJECT_NOT_FOUND`,
    context: { objectType: [singular(object)], id: [id] },
  }).entry(undefined);
}

function noLinks(from: ObjectName, id: string, to: ObjectName): object {
  const message = `No ${singular(to)} is associated with ${singular(from)} ${id}.`;
  return new ApiError(404, 'OBJECT_NOT_FOUND', message, {
    subCategory: 'crm.associations.NO_ASSOCIATIONS_FOUND',
    context: { fromObjectId: [id], fromObjectType: [singular(from)], toObjectType: [singular(to)] },
  }).entry(undefined);
}

function singular(object: ObjectName): string {
  return objectTypes[object].singular.toLowerCase();
}
