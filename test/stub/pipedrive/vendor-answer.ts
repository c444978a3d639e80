/** An answer of the API. An object is sent as JSON, text as HTML; without a body, nothing is sent after the headers. */
export interface VendorAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: object | string;
}

/** Ends the handling of a request: nothing was stored, and the stub sends `answer`. */
export class Refusal extends Error {
  readonly answer: VendorAnswer;

  constructor(answer: VendorAnswer) {
    super(`refused with status ${answer.status}`);
    this.answer = answer;
  }
}

const INFO = 'Please check developers.pipedrive.com for more information about Pipedrive API.';

/** Returns an error in the schema that Pipedrive documents for all of them (core-api-concepts-responses). */
function documentedError(status: number, error: string, more: object = {}): VendorAnswer {
  return {
    status,
    body: { success: false, error, error_info: INFO, data: null, additional_data: null, ...more },
  };
}

/** Returns v2's answer to a request that breaks its schema: the parameter and what is wrong with it. */
export function invalidV2(faults: readonly string[]): VendorAnswer {
  return {
    status: 400,
    body: {
      success: false,
      error: `Validation failed: ${faults.join('; ')}`,
      code: 'ERR_SCHEMA_VALIDATION_FAILED',
    },
  };
}

/** Returns v2's answer to a custom field's bad value. Since 2026-05-21 an answer of 422 names the field's code. */
export function invalidValue(status: 400 | 422, fieldCode: string, fault: string): VendorAnswer {
  const answer = invalidV2([`custom_fields: ${fault}`]);
  return status === 400 ? answer : { status, body: { ...(answer.body as object), field_code: fieldCode } };
}

/** Returns the leads API's answer to a request that breaks its schema. */
export function invalidV1(info: string): VendorAnswer {
  return documentedError(400, 'provided dataset is not valid', { error_info: info });
}

/** Returns the answer to a request that exceeds what the plan includes: deals, leads or custom fields. */
export function capped(what: 'deals' | 'leads' | 'custom_fields'): VendorAnswer {
  const name = what === 'custom_fields' ? 'custom field' : what.slice(0, -1);
  return documentedError(403, `Couldn't add the ${name}. The limit of your plan is reached.`, {
    code: `feature_capping_${what}_limit`,
  });
}

/** Returns the answer about a record that does not exist, or no longer. */
export function notFound(error = 'Entity was not found'): VendorAnswer {
  return documentedError(404, error, { error_info: 'Object was not found.' });
}

/** Returns the answer to requests over a limit. Its headers say which. */
export function tooManyRequests(headers: Readonly<Record<string, string>> = {}): VendorAnswer {
  return { ...documentedError(429, 'request over limit'), headers };
}

/** The answers that are always the same. */
export const fixedAnswers = {
  unauthorized: { status: 401, body: { success: false, error: 'unauthorized access', errorCode: 401 } },
  accountNotOpen: documentedError(402, 'Company account is not open'),
  forbidden: documentedError(403, 'You do not have permissions to do this.'),
  contactSyncMissing: documentedError(403, 'Contact sync fields are not enabled for this company.'),
  leadNotFound: notFound('requested lead not found'),
  gone: documentedError(410, 'Old resource permanently unavailable'),
  methodNotAllowed: documentedError(405, 'Incorrect request method'),
  serverError: {
    status: 500,
    body: { success: false, error: 'Internal Server Error', code: 'ERR_UNKNOWN' },
  },
  unavailable: documentedError(503, 'Requested service is not available'),
  badGateway: { status: 502, body: page('502 Bad Gateway', 'The web server reported a bad gateway error.') },
  /** Blocks an integration that keeps on sending after 429. */
  cloudflare: {
    status: 403,
    headers: { server: 'cloudflare', 'cf-ray': '8a1b2c3d4e5f6a7b-FRA' },
    body: page('Access denied', 'This error is produced by Cloudflare.'),
  },
  /** A page in place of an answer, as from a proxy, a login or a wrong domain. */
  html: { status: 200, body: page('Pipedrive', 'Log in to your account') },
} as const satisfies Record<string, VendorAnswer>;

function page(title: string, text: string): string {
  return `<!doctype html>\n<html><head><title>${title}</title></head><body><h1>${title}</h1><p>${text}</p></body></html>\n`;
}
