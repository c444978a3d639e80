import { type Answer, failed } from './answer.ts';

/** What the stub does with the connection in place of an answer: closes it, closes it within the answer, or keeps it open. */
export type NoAnswer = 'cut' | 'silent';

/** A misbehaviour: gets a function that carries the request out, and returns what the client sees. */
type Fault = (carryOut: () => Answer) => Answer | NoAnswer;

/** An answer in place of the usual one. */
export interface ReplacedAnswer extends Answer {
  /** Whether the request is carried out all the same. */
  readonly stores?: boolean;
}

/** The page of a Salesforce org in maintenance. */
export const maintenancePage: Answer = htmlPage(
  503,
  'Down For Maintenance',
  'Sorry for the inconvenience. We will be back shortly.',
);

/** The page that a proxy shows in place of any answer. */
export const proxyPage: Answer = htmlPage(200, 'Sign in to the network', 'Sign in to continue.');

/** The misbehaviours of an endpoint, by name. */
export const faults = {
  /** Behaves as usual, after `until` or `delayMs`. */
  slow: (carryOut) => carryOut(),
  cut: () => 'cut',
  'cut-after-storing': (carryOut) => after(carryOut, 'cut'),
  silent: () => 'silent',
  'silent-after-storing': (carryOut) => after(carryOut, 'silent'),
  'no-body-after-storing': (carryOut) => after(carryOut, { status: 200, body: '' }),
  'no-results-after-storing': (carryOut) => after(carryOut, { status: 200, body: [] }),
  /** Gives the results in another order than that of the request, which Salesforce promises not to do. */
  'reversed-results': (carryOut) => withResults(carryOut(), (results) => results.toReversed()),
  /** Leaves out the last result. */
  'fewer-results': (carryOut) => withResults(carryOut(), (results) => results.slice(0, -1)),
  /** Says of each record that it failed, and not why, though each was stored. */
  'failures-without-errors': (carryOut) =>
    withResults(carryOut(), (results) => results.map(() => ({ success: false, errors: [] }))),
  'truncated-json-after-storing': (carryOut) => {
    const { status, body, headers } = carryOut();
    const text = JSON.stringify(body);
    return { status, headers: { ...headers, ...JSON_TYPE }, body: text.slice(0, text.length / 2) };
  },
  'maintenance-page': () => maintenancePage,
  'proxy-page': () => proxyPage,
  'proxy-page-after-storing': (carryOut) => after(carryOut, proxyPage),
  'session-expired': () => failed(401, 'INVALID_SESSION_ID', 'Session expired or invalid'),
  'request-limit': () => failed(403, 'REQUEST_LIMIT_EXCEEDED', 'TotalRequests Limit exceeded.'),
  'server-unavailable': () => failed(503, 'SERVER_UNAVAILABLE', 'Server unavailable.'),
  'server-error': () =>
    failed(
      500,
      'UNKNOWN_EXCEPTION',
      'An unexpected error occurred. Please include this ErrorId if you contact support: 1234567890-12345 (123456789)',
    ),
  'server-error-after-storing': (carryOut) =>
    after(carryOut, failed(500, 'UNKNOWN_EXCEPTION', 'An unexpected error occurred.')),
} as const satisfies Record<string, Fault>;

/** The name of a misbehaviour. */
export type FaultName = keyof typeof faults;

/** The content type of Salesforce's answers. */
export const JSON_TYPE = { 'content-type': 'application/json;charset=UTF-8' } as const;

function after<T>(carryOut: () => Answer, seen: T): T {
  carryOut();
  return seen;
}

function withResults(answer: Answer, change: (results: readonly unknown[]) => readonly unknown[]): Answer {
  return Array.isArray(answer.body) ? { ...answer, body: change(answer.body) } : answer;
}

function htmlPage(status: number, title: string, text: string): Answer {
  return {
    status,
    headers: { 'content-type': 'text/html;charset=UTF-8' },
    body: `<!DOCTYPE html><html><head><title>${title}</title></head><body><h1>${title}</h1><p>${text}</p></body></html>`,
  };
}
