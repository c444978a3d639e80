import { ApiError, invalid, invalidValues, missingScopes, rateLimited } from './api-error.ts';

/** One input of the batch that an answer is for; empty for other requests. */
export interface AnsweredInput {
  readonly id?: string;
  readonly objectWriteTraceId?: string;
  readonly properties?: Readonly<Record<string, string>>;
}

/** An answer of HubSpot, and what it says about the records that were sent. */
export interface DocumentedAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The body, from the inputs of the request if it names them. */
  readonly body: (inputs: readonly AnsweredInput[]) => string;
  /**
   * What became of the records: `delivered`; `mixed`, the first refused and the others delivered; `refused`, a value of theirs is wrong;
   * `existing`, the record of the message's id takes the change; `unavailable`, the next record would fail too.
   */
  readonly outcome: 'delivered' | 'mixed' | 'refused' | 'existing' | 'unavailable';
  /** The wait before the next attempt that HubSpot's documents ask for, in ms. */
  readonly waitMs?: number;
}

const PORTAL_ID = 1_234_567;
const CORRELATION_ID = '0c7f2f0e-7c1f-4f5e-9d51-3a8a2f6b1d10';
const AT = '2026-11-20T10:00:00.000Z';
const JSON_TYPE = { 'content-type': 'application/json;charset=utf-8' };
const HTML_TYPE = { 'content-type': 'text/html; charset=UTF-8' };

/** Every answer of the outcome table, by name. */
export const answers = {
  upserted: batch(200, 'delivered', (inputs) => ({ results: inputs.map(upserted) })),
  created: batch(201, 'delivered', (inputs) => ({ results: inputs.map(upserted) })),
  mixed: batch(207, 'mixed', (inputs) => ({
    results: inputs.slice(1).map(upserted),
    numErrors: 1,
    errors: [wrongValue('email', 'INVALID_EMAIL').entry(inputs[0]?.objectWriteTraceId)],
  })),
  'every-input-refused': batch(207, 'refused', (inputs) => ({
    results: [],
    numErrors: inputs.length,
    errors: inputs.map(({ objectWriteTraceId }) =>
      wrongValue('email', 'INVALID_EMAIL').entry(objectWriteTraceId),
    ),
  })),
  'invalid-email': error(wrongValue('email', 'INVALID_EMAIL'), 'refused'),
  'invalid-integer': error(wrongValue('amount', 'INVALID_INTEGER'), 'refused'),
  'invalid-option': error(wrongValue('numemployees', 'INVALID_OPTION'), 'refused'),
  'invalid-date': error(wrongValue('closedate', 'INVALID_DATE'), 'refused'),
  'too-long': error(wrongValue('message', 'VALUE_TOO_LONG'), 'refused'),
  'validation-rule': error(wrongValue('phone', 'VALIDATION_RULE'), 'refused'),
  'no-property': error(
    wrongValue('leadsync_service', 'PROPERTY_DOESNT_EXIST', 'Property "leadsync_service" does not exist'),
    'unavailable',
  ),
  'read-only': error(
    wrongValue(
      'hs_object_id',
      'READ_ONLY_VALUE',
      '"hs_object_id" is a read only property; its value cannot be set.',
    ),
    'unavailable',
  ),
  'not-unique': error(
    invalid('Unable to perform update/upsert by non-unique 0-3 property leadsync_key'),
    'unavailable',
  ),
  conflict: error(
    new ApiError(409, 'CONFLICT', 'Contact already exists. Existing ID: 10000000001'),
    'existing',
  ),
  'no-results': batch(200, 'unavailable', () => ({ results: [] })),
  'fewer-results': batch(200, 'unavailable', (inputs) => ({ results: inputs.slice(1).map(upserted) })),
  'no-body': { status: 200, headers: JSON_TYPE, body: () => '', outcome: 'unavailable' },
  'html-200': html(200, 'HubSpot is down for maintenance'),
  unauthorized: error(
    new ApiError(
      401,
      'INVALID_AUTHENTICATION',
      'Authentication credentials not found. This API supports OAuth 2.0 authentication and you can find more details at https://developers.hubspot.com/docs/methods/auth/oauth-overview',
    ),
    'unavailable',
  ),
  'missing-scopes': error(missingScopes(['crm.objects.contacts.write']), 'unavailable'),
  'no-object': error(new ApiError(404, 'OBJECT_NOT_FOUND', 'resource not found'), 'unavailable'),
  locked: error(new ApiError(423, 'LOCKED', 'The record is locked. Try again later.'), 'unavailable', 2_000),
  'ten-secondly': error(rateLimited('TEN_SECONDLY_ROLLING'), 'unavailable', 10_000),
  secondly: error(rateLimited('SECONDLY'), 'unavailable', 1_000),
  daily: error(rateLimited('DAILY'), 'unavailable', 3_600_000),
  migrating: error(
    new ApiError(477, 'MIGRATION_IN_PROGRESS', 'This account is being moved to another data center.'),
    'unavailable',
    7_200_000,
    { 'retry-after': '7200' },
  ),
  'internal-error': error(new ApiError(500, 'INTERNAL_ERROR', 'internal error'), 'unavailable'),
  'bad-gateway': html(502, '502 Bad Gateway'),
  'service-unavailable': error(
    new ApiError(503, 'SERVICE_UNAVAILABLE', 'The service is temporarily unavailable.'),
    'unavailable',
  ),
  'gateway-timeout': html(504, '504 Gateway Time-out'),
  'cloudflare-521': html(521, '521: Web server is down'),
  'cloudflare-522': html(522, '522: Connection timed out'),
  'cloudflare-523': html(523, '523: Origin is unreachable'),
  'cloudflare-524': html(524, '524: A timeout occurred'),
} satisfies Record<string, DocumentedAnswer>;

/** The name of a documented answer. */
export type AnswerName = keyof typeof answers;

/** The documented answers as a table, for tests that walk over all of them. */
export const allTables = Object.entries(answers) as [AnswerName, DocumentedAnswer][];

function batch(
  status: number,
  outcome: DocumentedAnswer['outcome'],
  fields: (inputs: readonly AnsweredInput[]) => object,
): DocumentedAnswer {
  const body = (inputs: readonly AnsweredInput[]) =>
    JSON.stringify({ status: 'COMPLETE', ...fields(inputs), startedAt: AT, completedAt: AT });
  return { status, headers: JSON_TYPE, body, outcome };
}

function error(
  fault: ApiError,
  outcome: DocumentedAnswer['outcome'],
  waitMs?: number,
  headers: Record<string, string> = {},
): DocumentedAnswer {
  const body = JSON.stringify(fault.body(CORRELATION_ID));
  const wait = waitMs === undefined ? {} : { waitMs };
  return {
    status: fault.status,
    headers: { ...JSON_TYPE, 'x-hubspot-correlation-id': CORRELATION_ID, ...headers },
    body: () => body,
    outcome,
    ...wait,
  };
}

function html(status: number, title: string): DocumentedAnswer {
  const body = `<!DOCTYPE html>\n<html><head><title>api.hubapi.com | ${title}</title></head><body><h1>${title}</h1></body></html>\n`;
  return {
    status,
    headers: { ...HTML_TYPE, server: 'cloudflare' },
    body: () => body,
    outcome: 'unavailable',
  };
}

function wrongValue(name: string, code: string, message = `The value of ${name} is not valid`): ApiError {
  return invalidValues([{ name, error: code, message }], PORTAL_ID);
}

function upserted({ objectWriteTraceId, properties = {} }: AnsweredInput, index: number): object {
  const id = String(10_000_000_001 + index);
  return {
    id,
    properties: { ...properties, hs_object_id: id },
    createdAt: AT,
    updatedAt: AT,
    archived: false,
    new: true,
    ...(objectWriteTraceId === undefined ? {} : { objectWriteTraceId }),
  };
}
