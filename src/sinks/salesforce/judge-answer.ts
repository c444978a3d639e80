import { storedAnswer } from '../../leads/outcome.ts';
import type { Addressee, Answer } from '../http/api-server.ts';
import { SinkUnavailable } from '../sink-unavailable.ts';
import { readErrors } from './read-answer.ts';

/** Time for which leadsync sends nothing once the requests of 24 hours are used up, in ms. Salesforce does not say when it allows requests again. */
export const DAILY_WAIT_MS = 3_600_000;
/** The wait after too many long requests at the same time, in ms. */
const CONCURRENT_WAIT_MS = 60_000;

const CHECK_DOMAIN = 'Check `domain`, and whether a proxy answers in place of Salesforce.';
const STATUS = 'See https://status.salesforce.com.';
const PERMIT =
  'Give the user of the app a permission set or profile that allows reading, creating and editing leads.';

/** The message and the hint for an org that has no requests left. */
const USED_UP = [
  'allows no more API requests now: the org has used up its requests for 24 hours',
  'In Salesforce, open Setup > Company Information to see the usage. The leads wait until the org allows requests again.',
] as const;

/** The error codes of the token endpoint (RFC 6749, section 5.2, and Salesforce's own), with their meaning and the operator's next step. */
const LOGIN_FAULTS: Readonly<Record<string, readonly [what: string, hint: string]>> = {
  invalid_client_id: [
    'does not know the app',
    'Copy the consumer key of the external client app into `client_id`.',
  ],
  invalid_client: [
    'does not accept the secret of the app',
    'Copy the consumer secret of the external client app into `client_secret`.',
  ],
  invalid_grant: [
    'gives the app no token',
    'Set a user to run as in the client credentials flow of the app, and use the My Domain address as `domain`.',
  ],
  unsupported_grant_type: [
    'does not allow the client credentials flow',
    'Enable the client credentials flow in the OAuth settings of the external client app.',
  ],
};

/** Returns the failure of a request for a token. */
export function loginFailure(answer: Answer, origin: string): SinkUnavailable {
  const { httpStatus, retryAfterMs } = answer;
  const code = readErrors(answer)[0]?.code ?? '';
  const known = LOGIN_FAULTS[code];
  const [what, hint] =
    known ??
    (code === ''
      ? [
          `answered HTTP ${httpStatus} to the request for a token, but not in Salesforce's format`,
          strange(httpStatus),
        ]
      : [`gave no token (HTTP ${httpStatus} ${shown(code)})`, strange(httpStatus)]);
  return new SinkUnavailable(`Salesforce at ${origin} ${what}.`, {
    hint,
    httpStatus,
    retryAfterMs,
    unsent: true,
  });
}

/**
 * Returns the failure of a whole request with this answer. `permit` is the operator's next step if the user of the app is not permitted to make the
 * request.
 */
export function requestFailure(
  answer: Answer,
  { sink, origin }: Addressee,
  permit = PERMIT,
): SinkUnavailable {
  const { httpStatus, retryAfterMs } = answer;
  const [error] = readErrors(answer);
  const code = error?.code ?? '';
  const failure = (what: string, hint: string, waitMs = retryAfterMs) =>
    new SinkUnavailable(`Salesforce at ${origin} ${what}.`, {
      hint,
      httpStatus,
      answer: storedAnswer(answer.text),
      retryAfterMs: waitMs,
      mayHaveArrived: httpStatus < 300 || httpStatus >= 500,
    });
  const setup = `\`leadsync setup ${sink}\` shows what is missing; \`--yes\` creates it.`;
  if (httpStatus === 300)
    return failure(
      'has several leads with the same key',
      'Merge or delete the duplicates, and mark the field `Leadsync_Key__c` as unique.',
    );
  if (error === undefined || httpStatus < 400)
    return failure(`answered HTTP ${httpStatus}, but not in Salesforce's format`, strange(httpStatus));
  switch (code) {
    case 'INVALID_SESSION_ID':
      return failure(
        'does not accept its own new token',
        'Check the session settings and the IP ranges of the external client app and of its user.',
      );
    case 'REQUEST_LIMIT_EXCEEDED':
      return /Concurrent/.test(error.message)
        ? failure(
            'is busy with long requests',
            'Other programs in the org may use the same limit.',
            CONCURRENT_WAIT_MS,
          )
        : failure(...USED_UP, DAILY_WAIT_MS);
    case 'API_DISABLED_FOR_ORG':
      return failure('has no API', 'The edition of the org must include the REST API.');
    case 'INVALID_ASSIGNMENT_RULE':
      return failure('does not know the assignment rule', 'Correct `assignment`.');
    case 'INVALID_FIELD':
    case 'INVALID_TYPE':
    case 'NOT_FOUND':
      return failure(
        `lacks the object or a field that leadsync needs, or hides it from the user of the app (${shown(code)})`,
        setup,
      );
    case 'INSUFFICIENT_ACCESS':
    case 'INSUFFICIENT_ACCESS_OR_READONLY':
      return failure('does not allow the user of the app to do this', permit);
    case 'GONE':
      return failure(
        'no longer has the version of the API that leadsync uses',
        'Install the newest leadsync.',
      );
    default:
      return failure(`answered HTTP ${httpStatus} (${shown(code)})`, STATUS);
  }
}

/** Returns the operator's next step after an unexpected answer. */
function strange(httpStatus: number): string {
  return httpStatus >= 500 ? `${STATUS} ${CHECK_DOMAIN}` : CHECK_DOMAIN;
}

/** Returns the failure for a user of the app who may not write leads, or may not even see them. */
export function withoutPermission(origin: string, mayRead: boolean): SinkUnavailable {
  const what = mayRead ? 'create and edit leads' : 'see leads';
  return new SinkUnavailable(`The user of the app may not ${what} in Salesforce at ${origin}.`, {
    hint: PERMIT,
    unsent: true,
  });
}

/** Returns the failure of a request that leadsync does not send because the org has none left. */
export function withoutRequestsLeft(origin: string, waitMs: number): SinkUnavailable {
  const [what, hint] = USED_UP;
  return new SinkUnavailable(`Salesforce at ${origin} ${what}.`, {
    hint,
    retryAfterMs: waitMs,
    unsent: true,
  });
}

/** Whether an answer refuses a whole request because of a value in it, so that other records might be accepted. */
export function blamesValue(answer: Answer): boolean {
  const [error] = readErrors(answer);
  // Salesforce uses the same code for a body that is not JSON at all.
  return (
    answer.httpStatus === 400 &&
    error?.code === 'JSON_PARSER_ERROR' &&
    /Cannot deserialize/.test(error.message)
  );
}

/** Returns a name or code from Salesforce if it is safe to show. An answer could contain anything in its place. */
export function shown(text: string): string {
  return /^\w{1,100}$/.test(text) ? text : 'an unknown name';
}
