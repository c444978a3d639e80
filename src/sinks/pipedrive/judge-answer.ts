import { type Refused, storedAnswer } from '../../leads/outcome.ts';
import type { Answer, Addressee as Server } from '../http/api-server.ts';
import { readBody } from '../http/json-answer.ts';
import { SinkUnavailable } from '../sink-unavailable.ts';
import type { Call } from './calls.ts';
import type { FieldOwner } from './options.ts';
import { readFault } from './read-answer.ts';
import { DAILY_WAIT_MS } from './token-budget.ts';

/** Why Pipedrive does not accept a record. */
export type RecordFault =
  /** Pipedrive may accept the person without the email address; if it does not, `refused` applies. */
  | { readonly kind: 'wrong-email'; readonly refused: Refused }
  /** The record, or the record to which a new one is linked, was deleted, archived or merged. */
  | { readonly kind: 'gone'; readonly refused: Refused }
  | Refused;

/** Where a request went, and the names of fields in the sink's mapping, for messages. */
export interface Addressee extends Server {
  /** Returns the name in `fields` of the field with this code. Several objects can have a Pipedrive field with the same code. */
  nameOf(code: string, owner?: FieldOwner): string | undefined;
  /** Whether a field of the mapping has the same value for every lead. */
  isConstant(name: string): boolean;
}

const OWNERS = ['person', 'lead', 'deal'] as const satisfies readonly FieldOwner[];
/** The window of the burst limit, in ms. */
const BURST_MS = 2_000;
/** Time for which Cloudflare may block a client that keeps sending requests, in ms. Not documented. */
const BLOCK_MS = 3_600_000;
const TOKEN_HINT =
  'Put a valid API token into `token`: Pipedrive shows it under Personal preferences, API. A new token invalidates the old one.';

/** Judges an unsuccessful answer about a record. @throws SinkUnavailable for a fault that the next lead would also have */
export function judgeAnswer(answer: Answer, { method, path }: Call, to: Addressee): RecordFault {
  const { httpStatus } = answer;
  const body = readBody(answer);
  const fault = readFault(body);
  const name = `Pipedrive at ${to.origin}`;
  const owner = OWNERS.find((object) => path.includes(`/${object}s`));
  const setup = `\`leadsync setup ${to.sink}\` shows what is missing; \`--yes\` creates it.`;
  const failure = (message: string, hint: string, retryAfterMs = answer.retryAfterMs) =>
    new SinkUnavailable(message, {
      hint,
      httpStatus,
      answer: storedAnswer(answer.text),
      retryAfterMs,
      mayHaveArrived: httpStatus < 400 || httpStatus >= 500,
    });
  const refused = (): Refused => ({
    kind: 'refused',
    reason: `${name} does not accept ${shown(fault.parameter, owner, to)}. Correct the value in \`fields\`, then run \`leadsync retry\`.`,
    httpStatus,
    answer: storedAnswer(answer.text),
  });
  if (httpStatus < 300)
    throw failure(
      body === undefined
        ? `${to.origin} answered HTTP ${httpStatus}, but not in Pipedrive's format.`
        : `${name} answered HTTP ${httpStatus} without saying what it has stored.`,
      'Check `domain`, and whether a proxy answers in place of Pipedrive. Before leadsync sends a lead again, it checks whether Pipedrive already has it.',
    );
  const isPage = body === undefined;
  switch (httpStatus) {
    case 400:
    case 422:
      if (isPage || method === 'GET') break;
      if (fault.unknownField !== undefined)
        throw failure(`Pipedrive no longer has ${shown(fault.unknownField, owner, to)}.`, setup);
      if (to.isConstant(nameIn(fault.parameter, owner, to) ?? ''))
        throw failure(
          `${name} does not accept ${shown(fault.parameter, owner, to)}, which is the same for every lead.`,
          `Correct the value in \`fields\` of sink ${to.sink}.`,
        );
      return fault.parameter === 'emails' ? { kind: 'wrong-email', refused: refused() } : refused();
    case 401:
      throw failure(`${name} does not accept the token.`, TOKEN_HINT);
    case 402:
      throw failure(
        `The company at ${to.origin} is closed because its subscription is not paid.`,
        'Ask its administrator to check the billing in Pipedrive.',
      );
    case 403:
      if (isPage)
        throw failure(
          `Cloudflare blocks leadsync at ${to.origin}.`,
          'It does so after too many requests, including those of other programs. leadsync sends nothing for an hour.',
          BLOCK_MS,
        );
      if (fault.code.startsWith('feature_capping'))
        throw failure(
          `The plan of the company at ${to.origin} has no room for more (${safe(fault.code)}).`,
          'Delete what is not needed in Pipedrive, or choose a larger plan.',
        );
      throw failure(
        `The user of the token may not do this at ${to.origin} (${method} ${path}).`,
        "Give the user the permission in Pipedrive, or use the token of another user. `job_title`, `birthday`, `notes` and `postal_address` of a person need Pipedrive's contact sync.",
      );
    case 404:
    case 410:
      if (!isPage && method !== 'GET') return { kind: 'gone', refused: refused() };
      if (path.includes('{id}') && !isPage) return { kind: 'gone', refused: refused() };
      throw failure(
        `${to.origin} does not have ${path}, which is a part of Pipedrive's API.`,
        'Correct `domain`: it is the address at which people open the company in Pipedrive.',
      );
    case 429: {
      const isDay = Number(answer.header('x-daily-ratelimit-token-remaining') ?? Number.NaN) <= 0;
      const resetMs = Number(answer.header('x-ratelimit-reset') ?? Number.NaN) * 1_000;
      throw failure(
        isDay
          ? `The company at ${to.origin} has used up its daily API tokens.`
          : `${name} allows no more requests now.`,
        isDay
          ? 'leadsync asks again in an hour. More seats or another plan give the company more tokens.'
          : 'leadsync waits; other programs may use the same limit.',
        isDay ? DAILY_WAIT_MS : (answer.retryAfterMs ?? (resetMs > 0 ? resetMs : BURST_MS)),
      );
    }
  }
  throw isPage && httpStatus < 500
    ? failure(
        `${to.origin} answered HTTP ${httpStatus}, but not in Pipedrive's format.`,
        'Check `domain`, and whether a proxy answers in place of Pipedrive.',
      )
    : failure(
        `${name} answered HTTP ${httpStatus} to ${method} ${path}.`,
        httpStatus < 500
          ? `\`leadsync check\` compares sink ${to.sink} with the company. If it finds nothing, report this: \`leadsync trace LEAD --show-data\` shows the whole answer.`
          : 'https://status.pipedrive.com shows whether Pipedrive has a problem. leadsync tries again.',
      );
}

function shown(parameter: string | undefined, owner: FieldOwner | undefined, to: Addressee): string {
  if (parameter === undefined) return 'the record';
  const name = nameIn(parameter, owner, to);
  if (name !== undefined) return `\`${name}\``;
  return /^[0-9a-f]{40}$/.test(parameter) ? `the field ${parameter}` : `\`${safe(parameter)}\``;
}

function nameIn(
  parameter: string | undefined,
  owner: FieldOwner | undefined,
  { nameOf }: Addressee,
): string | undefined {
  return parameter === undefined ? undefined : nameOf(parameter, owner);
}

/** Returns a word from an answer if it is safe to show. An answer could contain anything in its place. */
function safe(word: string): string {
  return /^\w{1,60}$/.test(word) ? word : 'an unknown name';
}
