import { type DestinationRecord, type Refused, storedAnswer } from '../../leads/outcome.ts';
import type { Answer } from '../http/api-server.ts';
import { SinkUnavailable } from '../sink-unavailable.ts';

/** An answer from Slack's Web API (https://docs.slack.dev/apis/web-api/). */
export interface ApiAnswer {
  readonly ok: boolean;
  readonly error?: unknown;
  readonly [key: string]: unknown;
}

/** What an answer means for a message. */
export type Judged =
  | { readonly kind: 'delivered'; readonly httpStatus: number; readonly ref?: DestinationRecord | undefined }
  | Refused
  | WrongChannel
  | SinkUnavailable;

/** Slack refused a message because of its channel, so it would refuse every message to that channel. */
export class WrongChannel {
  readonly outcome: Refused;

  constructor(outcome: Refused) {
    this.outcome = outcome;
  }
}

const CHANNEL = 'Only the leads for this channel are affected: correct `channel`, or the channel in Slack.';
/** Errors that mean that the channel is at fault. A channel is chosen for each lead, so a wrong channel must not stop the other leads. */
const WRONG_CHANNEL: Readonly<Record<string, string>> = {
  channel_not_found: `There is no such channel, or it is private and the app is not a member. ${CHANNEL}`,
  not_in_channel: `The app is not a member of the channel: /invite it there. ${CHANNEL}`,
  is_archived: `The channel is archived. ${CHANNEL}`,
  restricted_action: `The app may not write to the channel. ${CHANNEL}`,
  restricted_action_read_only_channel: `The app may not write to the channel. ${CHANNEL}`,
  restricted_action_non_threadable_channel: `The app may not write to the channel. ${CHANNEL}`,
  restricted_action_thread_only_channel: `The app may not write to the channel. ${CHANNEL}`,
  channel_type_not_supported: `The app may not write to the channel. ${CHANNEL}`,
  messages_tab_disabled: `The person cannot get messages from the app. ${CHANNEL}`,
};

/** Errors that mean that the message is at fault. */
const WRONG_MESSAGE =
  /^(msg_too_long|msg_blocks_too_long|invalid_blocks|invalid_blocks_format|no_text|too_many_attachments|metadata_too_large|invalid_metadata\w*|invalid_payload|invalid_attachments|missing_text_or_fallback_or_attachments)$/;

/** Errors after which Slack may have the message ("it's possible some aspect of the operation succeeded"). */
const UNKNOWN = new Set(['fatal_error', 'internal_error', 'service_unavailable', 'request_timeout']);

const TOKEN = 'Create a token for the Slack app and put it into `token`.';
const WEBHOOK = 'Create an incoming webhook for another channel and put its URL into `url`.';
const HINTS: Readonly<Record<string, string>> = {
  invalid_auth: `Slack does not accept the token. ${TOKEN}`,
  not_authed: `Slack got no token. ${TOKEN}`,
  account_inactive: `The token belongs to an app or a workspace that was removed. ${TOKEN}`,
  token_revoked: `The token was revoked. ${TOKEN}`,
  token_expired: `The token has expired. ${TOKEN}`,
  missing_scope:
    'Add the scope chat:write to the Slack app and install it again. For channels that the app is not a member of, also add chat:write.public.',
  ratelimited: 'Slack allows about one message per second and channel: lower `rate`, or use `batch`.',
  rate_limited: 'Slack allows about one message per second and channel: lower `rate`, or use `batch`.',
  team_access_not_granted: 'Install the Slack app in the workspace.',
  org_login_required: 'The workspace is being moved to an organisation. Wait until that is done.',
  action_prohibited: `An administrator restricts the webhook. ${WEBHOOK}`,
  posting_to_general_channel_denied: `The webhook may not write to this channel. ${WEBHOOK}`,
  channel_is_archived: `The channel of the webhook is archived. ${WEBHOOK}`,
  channel_not_found: `The channel of the webhook was removed. ${WEBHOOK}`,
  no_active_hooks: `The webhook is disabled. ${WEBHOOK}`,
  no_service: `The webhook was removed or disabled. ${WEBHOOK}`,
  no_service_id: `The URL of the webhook is incomplete. ${WEBHOOK}`,
  no_team: `The workspace of the webhook was removed. ${WEBHOOK}`,
  team_disabled: `The workspace of the webhook is disabled. ${WEBHOOK}`,
  invalid_token: `Slack does not accept the URL of the webhook. ${WEBHOOK}`,
  user_not_found: `The webhook writes to a person who was removed. ${WEBHOOK}`,
};

/** Parses an answer from the Web API. Returns undefined if the body does not have the form of one, for example if it is a page from a proxy. */
export function readApiAnswer({ text }: Answer): ApiAnswer | undefined {
  try {
    const body: unknown = JSON.parse(text ?? '');
    const isAnswer =
      typeof body === 'object' && body !== null && 'ok' in body && typeof body.ok === 'boolean';
    return isAnswer ? (body as ApiAnswer) : undefined;
  } catch {
    return undefined;
  }
}

/** Judges an answer from `chat.postMessage`. `refOf` names the message that Slack created. */
export function judgePosted(
  origin: string,
  answer: Answer,
  refOf: (channel: string, ts: string) => DestinationRecord,
): Judged {
  const body = readApiAnswer(answer);
  if (body?.ok === true && typeof body['channel'] === 'string' && typeof body['ts'] === 'string')
    return { kind: 'delivered', httpStatus: answer.httpStatus, ref: refOf(body['channel'], body['ts']) };
  if (body === undefined || body.ok) return notAsSlack(origin, answer);
  return judgeError(origin, answer, String(body.error ?? 'no error'));
}

/** Returns the failure of a call of another Web API method with this answer. */
export function apiFailure(origin: string, answer: Answer): SinkUnavailable {
  const body = readApiAnswer(answer);
  if (body === undefined || body.ok) return notAsSlack(origin, answer);
  return unavailable(origin, answer, String(body.error ?? 'no error'));
}

/** Judges the answer from an incoming webhook, which is one word of plain text. */
export function judgeWebhook(origin: string, answer: Answer): Judged {
  const { httpStatus } = answer;
  const word = (answer.text ?? '').trim();
  if (httpStatus === 200 && word === 'ok') return { kind: 'delivered', httpStatus };
  if (httpStatus < 400 || !/^\w{2,60}$/.test(word)) return notAsSlack(origin, answer);
  if (WRONG_MESSAGE.test(word)) return refused(origin, answer, word);
  return unavailable(origin, answer, word);
}

function judgeError(origin: string, answer: Answer, error: string): Judged {
  if (Object.hasOwn(WRONG_CHANNEL, error))
    return new WrongChannel(refused(origin, answer, error, WRONG_CHANNEL[error]));
  return WRONG_MESSAGE.test(error) ? refused(origin, answer, error) : unavailable(origin, answer, error);
}

function refused(origin: string, answer: Answer, error: string, why = ''): Refused {
  const reason = `${origin} refused the message (${shown(error)}). ${why}`.trim();
  return { kind: 'refused', reason, httpStatus: answer.httpStatus, answer: storedAnswer(answer.text) };
}

function unavailable(origin: string, answer: Answer, error: string): SinkUnavailable {
  const { httpStatus, retryAfterMs } = answer;
  const isUnknown = UNKNOWN.has(error) || httpStatus >= 500;
  const standard = isUnknown
    ? 'See https://slack-status.com.'
    : "Look up the error in the method's documentation at https://docs.slack.dev.";
  return new SinkUnavailable(`${origin} answered ${shown(error)} (HTTP ${httpStatus}).`, {
    hint: (Object.hasOwn(HINTS, error) ? HINTS[error] : undefined) ?? standard,
    httpStatus,
    answer: storedAnswer(answer.text),
    retryAfterMs,
    gone: httpStatus === 410,
    mayHaveArrived: isUnknown,
  });
}

/** Returns the failure for an answer that is not Slack's, whatever its status: a page from a proxy, or truncated JSON. Slack may have the message. */
function notAsSlack(origin: string, answer: Answer): SinkUnavailable {
  const { httpStatus, retryAfterMs } = answer;
  return new SinkUnavailable(`${origin} answered HTTP ${httpStatus}, but not in Slack's format.`, {
    hint: 'Check the address, and whether a proxy answers in place of Slack.',
    httpStatus,
    answer: storedAnswer(answer.text),
    retryAfterMs,
    gone: httpStatus === 410,
    mayHaveArrived: httpStatus < 400 || httpStatus >= 500,
  });
}

/** Returns an error code if it is safe to show, because an answer could have anything in its place. */
function shown(error: string): string {
  return /^\w{2,60}$/.test(error) ? error : 'an unknown error';
}
