import type { Quota } from '../../leads/quota.ts';
import { type LimitSaid, RequestWindow } from '../crm/request-window.ts';
import { type Answer, ApiServer, type CallLimits } from '../http/api-server.ts';
import { type Json, objectOf, readBody } from '../http/json-answer.ts';
import type { SinkParts } from '../sink-type.ts';
import { SinkUnavailable } from '../sink-unavailable.ts';
import { type Call, calls } from './calls.ts';
import { type Addressee, judgeAnswer, type RecordFault } from './judge-answer.ts';
import type { PipedriveOptions } from './options.ts';
import { nextPage, readSuccess, type Success } from './read-answer.ts';
import { TokenBudget } from './token-budget.ts';

/** The limits of a request: when it ends, and which lease it needs. */
export type Limits = Pick<CallLimits, 'stop' | 'confirmLease' | 'onStored'>;

/** The contents of a request. */
export interface Asked {
  readonly id?: string | number;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: object;
}

/**
 * The period of Pipedrive's limits, in ms. The limits below are the lowest, those of the plan Lite
 * (https://pipedrive.readme.io/docs/core-api-concepts-rate-limiting).
 */
const PERIOD_MS = 2_000;
const LEAST_LIMIT = { requests: 20, perMs: PERIOD_MS };
const SEARCH_LIMIT = { requests: 10, perMs: PERIOD_MS };
/** Items per page: the most that Pipedrive returns. A page costs the same, however many items it has. */
const PAGE = '500';
/** Items per page of a search for several types. */
const ITEM_PAGE = '100';
const JSON_TYPE = 'application/json';

/** Sends a sink's requests to Pipedrive, within the limits of the company. */
export class PipedriveApi {
  readonly addressee: Addressee;
  readonly budget: TokenBudget;
  readonly #token: PipedriveOptions['token'];
  readonly #server: ApiServer;
  readonly #windows: { readonly any: RequestWindow; readonly search: RequestWindow };

  constructor(
    { domain, token, daily_tokens: daily }: Pick<PipedriveOptions, 'domain' | 'token' | 'daily_tokens'>,
    parts: SinkParts,
    names: Pick<Addressee, 'nameOf' | 'isConstant'>,
  ) {
    this.#token = token;
    this.addressee = { sink: parts.name, origin: domain, ...names };
    this.budget = new TokenBudget(parts.clock, daily);
    this.#server = new ApiServer(domain, parts);
    this.#windows = {
      any: new RequestWindow(parts.clock, LEAST_LIMIT),
      search: new RequestWindow(parts.clock, SEARCH_LIMIT),
    };
  }

  get quota(): Quota | undefined {
    return this.budget.quota;
  }

  /** Reads a record; undefined if there is none with this id, or if it is deleted. @throws SinkUnavailable */
  async read(call: Call, id: string | number, limits: Limits): Promise<Json | undefined> {
    const { success, fault } = await this.#ask(call, { id }, limits);
    if (success) {
      const record = this.#record(success);
      return record['is_deleted'] === true ? undefined : record;
    }
    if (fault.kind === 'gone') return undefined;
    throw unexpected(fault);
  }

  /** Returns the items of a list, page by page. @throws SinkUnavailable */
  async *list(call: Call, query: Readonly<Record<string, string>>, limits: Limits): AsyncIterable<Json> {
    const limit = call === calls.searchItems ? ITEM_PAGE : PAGE;
    for (let place: Readonly<Record<string, string>> | undefined = {}; place; ) {
      const asked = { query: { ...query, limit, ...place } };
      const { success, fault } = await this.#ask(call, asked, limits);
      if (!success) throw unexpected(fault);
      const items = Array.isArray(success.data) ? success.data : itemsOf(success.data as Json);
      if (items === undefined) throw this.#noList(call);
      yield* items as readonly Json[];
      place = nextPage(success.body);
    }
  }

  /** Returns every item of a list. @throws SinkUnavailable */
  async all(call: Call, query: Readonly<Record<string, string>>, limits: Limits): Promise<readonly Json[]> {
    const items: Json[] = [];
    for await (const item of this.list(call, query, limits)) items.push(item);
    return items;
  }

  /** Returns the items of a list that has no pages. @throws SinkUnavailable */
  async whole(call: Call, limits: Limits): Promise<readonly Json[]> {
    const { success, fault } = await this.#ask(call, {}, limits);
    if (!success) throw unexpected(fault);
    if (!Array.isArray(success.data)) throw this.#noList(call);
    return success.data as readonly Json[];
  }

  /** Creates or changes a record. Returns the record, or why Pipedrive refuses. @throws SinkUnavailable */
  async write(call: Call, asked: Asked, limits: Limits): Promise<Json | RecordFault> {
    const { success, fault } = await this.#ask(call, asked, { ...limits, sendsLeads: true });
    return success ? this.#record(success) : fault;
  }

  /** Deletes a record. Returns whether it existed. @throws SinkUnavailable */
  async delete(call: Call, id: string | number, limits: Limits): Promise<boolean> {
    const { success, fault } = await this.#ask(call, { id }, limits);
    if (success) return true;
    if (fault.kind === 'gone') return false;
    throw unexpected(fault);
  }

  close(): Promise<void> {
    return this.#server.close();
  }

  #record({ data }: Success): Json {
    return Array.isArray(data) ? {} : (data as Json);
  }

  #noList({ method, path }: Call): SinkUnavailable {
    return new SinkUnavailable(
      `Pipedrive at ${this.addressee.origin} answered ${method} ${path} without a list.`,
      { hint: 'Check `domain`, and whether a proxy answers in place of Pipedrive.', unsent: true },
    );
  }

  /** Makes a request. @throws SinkUnavailable for every fault that concerns more than the requested record */
  async #ask(
    call: Call,
    asked: Asked,
    limits: CallLimits,
  ): Promise<
    | { readonly success: Success; readonly fault?: undefined }
    | { readonly success?: undefined; readonly fault: RecordFault }
  > {
    const answer = await this.#send(call, asked, limits);
    try {
      const success = answer.httpStatus < 300 ? readSuccess(readBody(answer)) : undefined;
      return success ? { success } : { fault: judgeAnswer(answer, call, this.addressee) };
    } catch (error) {
      throw error instanceof SinkUnavailable && !limits.sendsLeads ? error.beforeSending() : error;
    }
  }

  async #send(call: Call, { id, query = {}, body }: Asked, limits: CallLimits): Promise<Answer> {
    const isSearch = call === calls.searchPersons || call === calls.searchItems;
    // The headers of an answer describe the first window.
    const windows = isSearch ? [this.#windows.search, this.#windows.any] : [this.#windows.any];
    const answered: Awaited<ReturnType<RequestWindow['take']>>[] = [];
    for (const window of windows) answered.push(await window.take(limits.stop));
    const parameters = new URLSearchParams(query).toString();
    const path = id === undefined ? call.path : call.path.replace('{id}', encodeURIComponent(id));
    const request = {
      method: call.method,
      path: parameters === '' ? path : `${path}?${parameters}`,
      headers: {
        'x-api-token': this.#token.reveal(),
        accept: JSON_TYPE,
        ...(body === undefined ? {} : { 'content-type': JSON_TYPE }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    };
    let answer: Answer | undefined;
    try {
      answer = await this.#server.call(request, limits);
      this.#learnDay(answer, call);
      return answer;
    } finally {
      const [first, ...others] = answered;
      first?.(answer && limitSaid(answer));
      for (const done of others) done();
    }
  }

  #learnDay(answer: Answer, { tokens }: Call): void {
    const day = (name: string) => numberIn(answer, `x-daily-ratelimit-token-${name}`);
    this.budget.learn({ limit: day('limit'), remaining: day('remaining') }, tokens);
  }
}

/** Returns the limit in the headers of an answer; NaN for what they lack. */
function limitSaid(answer: Answer): LimitSaid {
  return {
    requests: numberIn(answer, 'x-ratelimit-limit'),
    perMs: PERIOD_MS,
    remaining: numberIn(answer, 'x-ratelimit-remaining'),
  };
}

/** Returns the number in a header; NaN if the header is absent. */
function numberIn({ header }: Answer, name: string): number {
  return Number(header(name) ?? Number.NaN);
}

/** Whether the result of `write` is a fault, not a record. */
export function isFault(result: Json | RecordFault): result is RecordFault {
  return 'kind' in result && typeof result.kind === 'string' && !('id' in result);
}

/** Returns the failure for a fault in a request that writes no lead, which therefore cannot be the fault of a lead. */
function unexpected(fault: RecordFault): SinkUnavailable {
  const { reason, httpStatus, answer } = fault.kind === 'refused' ? fault : fault.refused;
  return new SinkUnavailable(reason, { hint: '', httpStatus, answer, unsent: true });
}

/** Returns the items in the answer to a search. */
function itemsOf(data: Json): readonly Json[] | undefined {
  const { items } = data;
  if (!Array.isArray(items)) return undefined;
  return items.map((one) => objectOf(objectOf(one)?.['item'])).filter((one) => one !== undefined);
}
