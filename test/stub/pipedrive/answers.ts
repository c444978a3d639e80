import type { RouteName } from './routes.ts';
import {
  capped,
  fixedAnswers,
  invalidV1,
  invalidV2,
  invalidValue,
  notFound,
  tooManyRequests,
  type VendorAnswer,
} from './vendor-answer.ts';

/** An answer of Pipedrive, and what it means for the lead that a client was about to bring. */
export interface OutcomeRow {
  readonly what: string;
  /** The operations that answer so. */
  readonly at: readonly RouteName[];
  readonly answer: VendorAnswer;
  /** `unavailable` if the next lead would get the same answer. */
  readonly outcome: 'delivered' | 'refused' | 'unavailable';
  /** How long the client should send nothing at all, in seconds. */
  readonly waitSeconds?: number;
  /** Whether the record is gone: an update of it is delivered with a remark. */
  readonly isGone?: true;
}

const CODE = '3b71d5b6cea10e23f3f433d248add2020d4aff2e';
const LEAD_ID = 'adf21080-0e10-11eb-879b-05d71fb426ec';

const creating: readonly RouteName[] = ['POST /persons', 'POST /leads', 'POST /deals', 'POST /notes'];
const reading: readonly RouteName[] = ['GET /persons/search', 'GET /persons', 'GET /leads', 'GET /deals'];
const changing: readonly RouteName[] = ['PATCH /persons/{id}', 'PATCH /leads/{id}', 'PATCH /deals/{id}'];
const every: readonly RouteName[] = [...creating, ...reading, ...changing];

const burst = { 'x-ratelimit-limit': '20', 'x-ratelimit-remaining': '0' };

/** The answers that Pipedrive documents or that were seen of it, and those of what stands between. */
export const allTables: readonly OutcomeRow[] = [
  ...created('POST /persons', { id: 1, name: 'Example Person', emails: [], phones: [], custom_fields: {} }),
  ...created('POST /leads', {
    id: LEAD_ID,
    title: 'Example',
    person_id: 1,
    source_name: 'API',
    origin_id: null,
  }),
  ...created('POST /deals', { id: 1, title: 'Example', person_id: 1, custom_fields: {} }),
  ...created('POST /notes', { id: 1, content: 'Example', lead_id: LEAD_ID }),
  row('a required parameter is missing', ['POST /leads'], invalidV1('"title" is required'), 'refused'),
  row(
    'a parameter has the wrong form',
    ['POST /persons', 'POST /deals'],
    invalidV2(['emails: must be an array']),
    'refused',
  ),
  row(
    'a custom field has a bad value',
    ['POST /deals'],
    invalidValue(400, CODE, valueFault('number')),
    'refused',
  ),
  row(
    'a custom field has a bad value, named',
    ['POST /deals'],
    invalidValue(422, CODE, valueFault('number')),
    'refused',
  ),
  row(
    'a custom field was deleted',
    ['POST /deals'],
    invalidV2([`custom_fields: Parameter '${CODE}' is not allowed for this request`]),
    'unavailable',
  ),
  row(
    'a custom field of leads was deleted',
    ['POST /leads'],
    invalidV1(`"${CODE}" is not allowed`),
    'unavailable',
  ),
  row('the token is unknown or revoked', every, fixedAnswers.unauthorized, 'unavailable'),
  row('the company does not pay', every, fixedAnswers.accountNotOpen, 'unavailable'),
  row('the user lacks a permission', creating, fixedAnswers.forbidden, 'unavailable'),
  row(
    'contact sync is off',
    ['POST /persons', 'PATCH /persons/{id}'],
    fixedAnswers.contactSyncMissing,
    'unavailable',
  ),
  row('the plan has no room for a deal', ['POST /deals'], capped('deals'), 'unavailable'),
  row('the plan has no room for a lead', ['POST /leads'], capped('leads'), 'unavailable'),
  row('Cloudflare blocks the client', every, fixedAnswers.cloudflare, 'unavailable', { waitSeconds: 3_600 }),
  row('the lead is archived or deleted', ['PATCH /leads/{id}'], fixedAnswers.leadNotFound, 'delivered', {
    isGone: true,
  }),
  row('the record does not exist', ['PATCH /persons/{id}', 'PATCH /deals/{id}'], notFound(), 'delivered', {
    isGone: true,
  }),
  row('the record is gone for good', changing, fixedAnswers.gone, 'delivered', { isGone: true }),
  row(
    'the burst limit is reached',
    every,
    tooManyRequests({ ...burst, 'x-ratelimit-reset': '2' }),
    'unavailable',
    { waitSeconds: 2 },
  ),
  row('the burst limit is reached, without a reset', every, tooManyRequests(), 'unavailable', {
    waitSeconds: 2,
  }),
  row(
    'the daily API tokens are used up',
    every,
    tooManyRequests({
      'x-ratelimit-reset': '2',
      'x-daily-ratelimit-token-limit': '30000',
      'x-daily-ratelimit-token-remaining': '0',
    }),
    'unavailable',
    { waitSeconds: 3_600 },
  ),
  row('the service fails', every, fixedAnswers.serverError, 'unavailable'),
  row('a gateway fails', every, fixedAnswers.badGateway, 'unavailable'),
  row('the service is under maintenance', every, fixedAnswers.unavailable, 'unavailable'),
  row('a page comes in place of the answer', every, fixedAnswers.html, 'unavailable'),
  row('success comes without a body', every, { status: 200 }, 'unavailable'),
  row('success comes without data', every, { status: 200, body: { success: true } }, 'unavailable'),
  row(
    'success comes with data that is null',
    every,
    { status: 200, body: { success: true, data: null } },
    'unavailable',
  ),
  row(
    'the body contradicts the status',
    every,
    { status: 200, body: { success: false, error: 'Example' } },
    'unavailable',
  ),
];

function created(at: RouteName, data: object): OutcomeRow[] {
  const statuses = at === 'POST /leads' ? [201] : [200, 201];
  return statuses.map((status) =>
    row(`${at} succeeds with ${status}`, [at], { status, body: { success: true, data } }, 'delivered'),
  );
}

function row(
  what: string,
  at: readonly RouteName[],
  answer: VendorAnswer,
  outcome: OutcomeRow['outcome'],
  more: Pick<OutcomeRow, 'waitSeconds' | 'isGone'> = {},
): OutcomeRow {
  return { what, at, answer, outcome, ...more };
}

function valueFault(wanted: string): string {
  return `Expected '${wanted}' as value for single option custom field '${CODE}'`;
}
