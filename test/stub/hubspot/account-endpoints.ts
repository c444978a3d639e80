import type { Account, Owner } from './account.ts';
import { ApiError } from './api-error.ts';
import type { ApiAnswer, ApiRequest } from './api-request.ts';
import type { ObjectName } from './object-types.ts';
import { type Pipeline, standardPipelines } from './pipelines.ts';

/** What answers show as the time at which owners and pipelines were made. */
const MADE_AT = '2026-01-05T09:00:00.000Z';

/** `GET /account-info/VERSION/details` */
export function answerAccountInfo(account: Account, { method, path }: ApiRequest): ApiAnswer | undefined {
  if (method !== 'GET' || path.join('/') !== 'details') return undefined;
  const { portalId, timeZone } = account;
  return {
    status: 200,
    body: {
      portalId,
      accountType: 'STANDARD',
      timeZone,
      companyCurrency: 'USD',
      additionalCurrencies: [],
      utcOffset: '-05:00',
      utcOffsetMilliseconds: -18_000_000,
      uiDomain: 'app.hubspot.com',
      dataHostingLocation: 'na1',
    },
  };
}

/** `GET /crm/owners/VERSION`, also of one owner. */
export function answerOwners(account: Account, { method, path, query }: ApiRequest): ApiAnswer | undefined {
  if (method !== 'GET') return undefined;
  if (path.length === 0) {
    const email = query.get('email');
    const found = account.owners.filter((owner) => email === null || owner.email === email);
    return { status: 200, body: { results: found.map(printOwner) } };
  }
  const owner = account.owners.find(({ id }) => id === path[0]);
  if (!owner) throw new ApiError(404, 'OBJECT_NOT_FOUND', 'resource not found');
  return { status: 200, body: printOwner(owner) };
}

/** `GET /crm/pipelines/VERSION/OBJECT`, also of one pipeline. */
export function answerPipelines(object: ObjectName, { method, path }: ApiRequest): ApiAnswer | undefined {
  if (method !== 'GET' || (object !== 'deals' && object !== 'leads')) return undefined;
  const printed = standardPipelines[object].map(printPipeline);
  if (path.length === 1) return { status: 200, body: { results: printed } };
  const found = printed.find(({ id }) => id === path[1]);
  if (!found) throw new ApiError(404, 'OBJECT_NOT_FOUND', 'resource not found');
  return { status: 200, body: found };
}

function printOwner(owner: Owner): object {
  return { ...owner, type: 'PERSON', archived: false, createdAt: MADE_AT, updatedAt: MADE_AT };
}

function printPipeline({ id, label, stages }: Pipeline, displayOrder: number) {
  const common = { archived: false, createdAt: MADE_AT, updatedAt: MADE_AT };
  const printed = stages.map((stage, order) => ({
    ...stage,
    displayOrder: order,
    metadata: {},
    writePermissions: 'CRM_PERMISSIONS_ENFORCEMENT',
    ...common,
  }));
  return { id, label, displayOrder, stages: printed, ...common };
}
