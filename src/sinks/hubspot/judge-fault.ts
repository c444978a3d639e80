import { type Refused, storedAnswer } from '../../leads/outcome.ts';
import type { Addressee, Answer } from '../http/api-server.ts';
import { readBody } from '../http/json-answer.ts';
import { SinkUnavailable } from '../sink-unavailable.ts';
import { type HubSpotFault, readFault } from './read-answer.ts';

/** What a fault of one record means for its lead. */
export type RecordFault =
  /** The record already exists: HubSpot names it, or at least reports that a unique value is taken. */
  | { readonly kind: 'existing'; readonly id: string | undefined }
  /** HubSpot may accept the contact without its email address; `refused` is what the fault means for any other record. */
  | { readonly kind: 'wrong-email'; readonly refused: Refused }
  /** The record was deleted after leadsync had read it. */
  | { readonly kind: 'gone' }
  | Refused
  | SinkUnavailable;

/** Codes of property errors that do not blame the value of the lead: every lead would have the same fault. */
const OF_MAPPING = /^(PROPERTY_DOESNT_EXIST|READ_ONLY_VALUE|INVALID_OWNER_ID)$/;
/** Properties whose options an administrator defines and a mapping selects. If a value is not an option, the lead is not at fault. */
const OF_ACCOUNT = /^(pipeline|dealstage|hs_pipeline|hs_pipeline_stage|lifecyclestage|hs_lead_status)$/;
const OF_UNIQUE_VALUE = /UNIQUE|DUPLICATE/;
/** The unique properties by which leadsync finds records. If another record already has the value, leadsync writes to that record. */
const FINDS_RECORDS = /^(email|leadsync_key)$/;
/** Time for which leadsync sends nothing once the requests of the day are used up, in ms. */
export const DAILY_WAIT_MS = 3_600_000;
/** Wait for each of HubSpot's limits, in ms (https://developers.hubspot.com/docs/api/usage-details). */
const LIMIT_WAITS: Readonly<Record<string, number>> = {
  TEN_SECONDLY_ROLLING: 10_000,
  SECONDLY: 1_000,
  DAILY: DAILY_WAIT_MS,
};
const NO_KEY =
  'HubSpot has no property `leadsync_key` with unique values, by which leadsync recognises its records.';
const DAY_USED_UP = "The account's daily limit is used up.";
/** Time for which HubSpot locks a record, in ms. */
const LOCK_MS = 2_000;

/** Judges the fault of one record of a batch. `answer` is the text to store. */
export function judgeFault(
  fault: HubSpotFault,
  { sink, origin }: Addressee,
  { httpStatus, answer }: { readonly httpStatus: number; readonly answer: string | undefined },
): RecordFault {
  const { category, properties, missing, existingId, isNotUnique } = fault;
  const unavailable = (message: string, hint: string) =>
    new SinkUnavailable(message, { hint, httpStatus, answer, mayHaveArrived: false });
  const setup = `\`leadsync setup ${sink}\` shows what is missing; \`--yes\` creates it.`;
  if (isNotUnique) return unavailable(NO_KEY, setup);
  const ofMapping = properties.filter(({ name, code }) => OF_MAPPING.test(code) || OF_ACCOUNT.test(name));
  if (ofMapping.length > 0)
    return unavailable(
      `HubSpot cannot write ${listed(ofMapping)}.`,
      `Correct the value in \`fields\`, or the property in HubSpot: \`leadsync fields ${sink}\` lists them. ${setup}`,
    );
  const taken = properties.filter(({ code }) => OF_UNIQUE_VALUE.test(code));
  const isTaken = taken.length > 0 || existingId !== undefined || category === 'CONFLICT';
  if (isTaken && taken.every(({ name }) => FINDS_RECORDS.test(name)))
    return { kind: 'existing', id: existingId };
  if (category === 'OBJECT_NOT_FOUND') return { kind: 'gone' };
  const what =
    properties.length > 0
      ? listed(properties)
      : missing.length > 0
        ? `a record without ${missing.map((name) => `\`${shown(name)}\``).join(', ')}`
        : `the record (${shown(category)})`;
  const refused: Refused = {
    kind: 'refused',
    reason: `HubSpot at ${origin} does not accept ${what}. Correct \`fields\` or the property in HubSpot, then run \`leadsync retry\`.`,
    httpStatus,
    answer,
  };
  const isOfEmail = properties.length > 0 && properties.every(({ name }) => name === 'email');
  return isOfEmail ? { kind: 'wrong-email', refused } : refused;
}

/** Whether an answer refuses a request because of its records, so that other records might be accepted. */
export function blamesRecords({ httpStatus }: Answer): boolean {
  return httpStatus === 400 || httpStatus === 409;
}

/** Returns the failure of a whole request with this answer. `path` is the path of the request. */
export function requestFailure(answer: Answer, path: string, { sink, origin }: Addressee): SinkUnavailable {
  const { httpStatus, retryAfterMs } = answer;
  const body = readBody(answer);
  const fault = readFault(body);
  const limitMs = LIMIT_WAITS[fault.policy ?? ''];
  const failure = (message: string, hint: string, waitMs?: number) =>
    new SinkUnavailable(message, {
      hint,
      httpStatus,
      answer: storedAnswer(answer.text),
      retryAfterMs: waitMs,
      mayHaveArrived: httpStatus < 400 || httpStatus >= 500,
    });
  const name = `HubSpot at ${origin}`;
  if (fault.isNotUnique)
    return failure(NO_KEY, `\`leadsync setup ${sink}\` shows what is missing; \`--yes\` creates it.`);
  const notFound = (of: string) => {
    const [, object] = /\/(contacts|deals|leads)\b/.exec(of) ?? [];
    return object === undefined || fault.category === ''
      ? failure(
          `${origin} does not have the path ${of}, which is part of HubSpot's API.`,
          'Correct `api_url`: without it, leadsync uses https://api.hubapi.com.',
        )
      : failure(
          `${name} does not have the object ${object}.`,
          'The plan of the account might not include it: choose another `object`.',
        );
  };
  switch (httpStatus) {
    case 401:
      return failure(
        `${name} does not accept the token.`,
        'Put a valid service key of the account into `token`: HubSpot shows it under Development, Keys, Service keys.',
      );
    case 403:
      return failure(
        `The token may not do this in HubSpot${fault.scopes.length > 0 ? `: it lacks ${fault.scopes.map(shown).join(' or ')}` : ''}.`,
        'Add the scope to the service key in HubSpot (Development, Keys, Service keys), or use another key.',
      );
    case 404:
      return notFound(path);
    case 423:
      return failure(
        `${name} has locked the record because of another change.`,
        'leadsync tries again.',
        LOCK_MS,
      );
    case 429:
      return failure(
        `${name} allows no more requests now${fault.policy === undefined ? '' : ` (limit ${shown(fault.policy)})`}.`,
        fault.policy === 'DAILY' ? DAY_USED_UP : 'leadsync waits; other programs may use the same limit.',
        limitMs ?? LIMIT_WAITS['TEN_SECONDLY_ROLLING'],
      );
    case 477:
      return failure(
        `HubSpot is moving the account to another data centre.`,
        'Wait until that is done.',
        retryAfterMs,
      );
    default:
      return body === undefined || httpStatus < 400
        ? failure(
            `${origin} answered HTTP ${httpStatus}, but not in HubSpot's format.`,
            'Check `api_url`, and whether a proxy answers in place of HubSpot.',
            retryAfterMs,
          )
        : failure(
            `${name} answered HTTP ${httpStatus}${fault.category === '' ? '' : ` (${shown(fault.category)})`}.`,
            httpStatus < 500
              ? `\`leadsync check\` compares sink ${sink} with the account. If it finds nothing, report this: \`leadsync trace LEAD --show-data\` shows the whole answer.`
              : 'https://status.hubspot.com shows whether HubSpot has a problem. leadsync tries again.',
            retryAfterMs,
          );
  }
}

/** Whether an answer refuses a request because the account has no requests left today. */
export function saysDayIsUsedUp(answer: Answer): boolean {
  return answer.httpStatus === 429 && readFault(readBody(answer)).policy === 'DAILY';
}

/** Returns the failure of a request that leadsync does not send because the account has none left today. */
export function withoutRequestsLeft({ origin }: Addressee, waitMs: number): SinkUnavailable {
  return new SinkUnavailable(`HubSpot at ${origin} allows no more requests today.`, {
    hint: `${DAY_USED_UP} leadsync asks again within the hour; other programs use the same limit.`,
    retryAfterMs: waitMs,
    unsent: true,
  });
}

/** Returns the failure of a record that the answer to its request does not name. */
export function unnamed({ origin }: Addressee, httpStatus: number): SinkUnavailable {
  return new SinkUnavailable(`HubSpot at ${origin} did not report what happened to the record.`, {
    hint: 'leadsync sends it again; HubSpot recognises it by its key.',
    httpStatus,
    mayHaveArrived: true,
  });
}

function listed(properties: HubSpotFault['properties']): string {
  return properties.map(({ name, code }) => `\`${shown(name)}\` (${shown(code)})`).join(', ');
}

/** Returns a name or code from HubSpot if it is safe to show. An answer could contain anything in its place. */
function shown(text: string): string {
  return /^[\w.:, -]{1,100}$/.test(text) ? text : 'an unknown name';
}
