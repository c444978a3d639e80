import {
  type Addressee,
  type Answer,
  type ApiRequest,
  ApiServer,
  type CallLimits,
} from '../http/api-server.ts';
import { readBody } from '../http/json-answer.ts';
import type { SinkParts } from '../sink-type.ts';
import type { SinkUnavailable } from '../sink-unavailable.ts';
import { ApiUsage } from './api-usage.ts';
import { requestFailure, withoutPermission, withoutRequestsLeft } from './judge-answer.ts';
import { type LeadFields, readFields } from './lead-fields.ts';
import type { SalesforceOptions } from './options.ts';
import { readErrors } from './read-answer.ts';
import { Sessions } from './session.ts';

/** The version of the REST API (Summer '26). */
export const VERSION = '67.0';
/** The path of the REST API. */
export const API = `/services/data/v${VERSION}`;

/** The limits of a request that delivers no leads. */
export type Limits = Pick<CallLimits, 'stop' | 'confirmLease'>;

/** A record in the answer to a query. */
export type QueriedRecord = Readonly<Record<string, unknown>>;

interface Page {
  readonly records: readonly QueriedRecord[];
  /** The path of the next page; undefined after the last. */
  readonly next: string | undefined;
}

interface Request extends Omit<ApiRequest, 'headers' | 'body'> {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: object;
}

const JSON_TYPE = 'application/json';

/** Sends a sink's requests to an org. */
export class SalesforceApi {
  readonly addressee: Addressee;
  readonly usage: ApiUsage;
  readonly #server: ApiServer;
  readonly #sessions: Sessions;
  #fields: LeadFields | undefined;

  constructor(
    { domain, ...app }: Pick<SalesforceOptions, 'domain' | 'client_id' | 'client_secret'>,
    parts: SinkParts,
  ) {
    this.addressee = { sink: parts.name, origin: domain };
    this.usage = new ApiUsage(parts.clock);
    this.#server = new ApiServer(domain, parts);
    this.#sessions = new Sessions(this.#server, app);
  }

  /**
   * Makes a request with a session. If the session has ended, starts a new one and repeats the request, once. Returns the answer, whatever its
   * status. @throws SinkUnavailable if there is none
   */
  async call(request: Request, limits: CallLimits): Promise<Answer> {
    const waitMs = this.usage.waitMs();
    if (waitMs > 0) throw withoutRequestsLeft(this.addressee.origin, waitMs);
    const session = await this.#sessions.get(limits);
    const answer = await this.#send(request, session.accessToken, limits);
    if (!hasEnded(answer)) return answer;
    await this.#sessions.forget(session);
    const renewed = await this.#sessions.get(limits);
    return this.#send(request, renewed.accessToken, limits);
  }

  /**
   * Makes a request, and returns the JSON of the answer; undefined for an answer for which `isExpected` is true. `permit` is the operator's next step
   * if the user of the app is not permitted to make the request.
   * @throws SinkUnavailable for every other answer
   */
  async ask(
    request: Request,
    { stop, confirmLease }: Limits,
    {
      isExpected = () => false,
      permit,
    }: { readonly isExpected?: (answer: Answer) => boolean; readonly permit?: string } = {},
  ): Promise<Readonly<Record<string, unknown>> | undefined> {
    const answer = await this.call(request, { stop, confirmLease });
    if (isExpected(answer)) return undefined;
    if (answer.httpStatus === 204) return {};
    const body = answer.httpStatus >= 200 && answer.httpStatus < 300 ? readBody(answer) : undefined;
    if (body === undefined) throw this.failure(answer, permit).beforeSending();
    return body;
  }

  /** Returns the records of a query, page by page. `resource` is `query` or `tooling/query`. @throws SinkUnavailable */
  async *query(soql: string, limits: Limits, resource = 'query'): AsyncIterable<readonly QueriedRecord[]> {
    const first = `${API}/${resource}?${new URLSearchParams({ q: soql })}`;
    for (let path: string | undefined = first; path !== undefined; ) {
      const page: Page = await this.#page(path, limits);
      yield page.records;
      path = page.next;
    }
  }

  /** Returns the fields of leads, from memory unless `isFresh`. @throws SinkUnavailable */
  async fields(limits: Limits, isFresh = false): Promise<LeadFields> {
    if (this.#fields !== undefined && !isFresh) return this.#fields;
    const answer = await this.call(
      { method: 'GET', path: `${API}/sobjects/Lead/describe` },
      {
        stop: limits.stop,
        confirmLease: limits.confirmLease,
      },
    );
    if (answer.httpStatus === 404 && readErrors(answer)[0]?.code === 'NOT_FOUND')
      throw withoutPermission(this.addressee.origin, false);
    const fields = answer.httpStatus === 200 ? readFields(readBody(answer) ?? {}) : undefined;
    if (fields === undefined) throw this.failure(answer).beforeSending();
    this.#fields = fields;
    return fields;
  }

  /** Makes leadsync read the fields again before their next use, because an administrator may have changed them. */
  forgetFields(): void {
    this.#fields = undefined;
  }

  /** Returns the id of the user that the app runs as. @throws SinkUnavailable */
  async userId(limits: Limits): Promise<string> {
    return (await this.#sessions.get(limits)).userId;
  }

  /** Returns the failure that an answer to a whole request means. */
  failure(answer: Answer, permit?: string): SinkUnavailable {
    return requestFailure(answer, this.addressee, permit);
  }

  close(): Promise<void> {
    return this.#server.close();
  }

  async #page(path: string, { stop, confirmLease }: Limits): Promise<Page> {
    const answer = await this.call({ method: 'GET', path }, { stop, confirmLease });
    const { records, done, nextRecordsUrl: next } = (answer.httpStatus === 200 && readBody(answer)) || {};
    if (!Array.isArray(records) || (done !== true && !isPath(next)))
      throw this.failure(answer).beforeSending();
    return { records: records as QueriedRecord[], next: done === true ? undefined : String(next) };
  }

  async #send({ headers, body, ...request }: Request, token: string, limits: CallLimits): Promise<Answer> {
    const answer = await this.#server.call(
      {
        ...request,
        headers: {
          authorization: `Bearer ${token}`,
          accept: JSON_TYPE,
          ...(body === undefined ? {} : { 'content-type': JSON_TYPE }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      },
      limits,
    );
    this.usage.learn(answer.header('sforce-limit-info'));
    return answer;
  }
}

function hasEnded(answer: Answer): boolean {
  return answer.httpStatus === 401 && readErrors(answer)[0]?.code === 'INVALID_SESSION_ID';
}

function isPath(url: unknown): url is string {
  return typeof url === 'string' && url.startsWith('/services/data/');
}
