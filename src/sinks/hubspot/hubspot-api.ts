import { storedAnswer } from '../../leads/outcome.ts';
import type { Quota } from '../../leads/quota.ts';
import { type Addressee, type Answer, ApiServer, type CallLimits } from '../http/api-server.ts';
import { readBody } from '../http/json-answer.ts';
import type { SinkParts } from '../sink-type.ts';
import { SinkUnavailable } from '../sink-unavailable.ts';
import { AccountLimits } from './account-limits.ts';
import { type BatchRequest, inParts, isSuccess, type Part } from './batch-requests.ts';
import {
  blamesRecords,
  judgeFault,
  type RecordFault,
  requestFailure,
  unnamed,
  withoutRequestsLeft,
} from './judge-fault.ts';
import { type MatchedResults, matchResults, type RecordInput } from './match-results.ts';
import type { HubSpotOptions } from './options.ts';
import { type HubSpotRecord, type Link, linkText, readBatch, readFault, readLinks } from './read-answer.ts';

/** The version of the API, in the paths (https://developers.hubspot.com/docs/api-reference/overview). Supported until March 2028. */
export const VERSION = '2026-09';

/** The objects that leadsync writes, by their name in paths. */
export type ObjectName = 'contacts' | 'deals' | 'leads';

/** What became of each input, by its trace id. */
export type Written = ReadonlyMap<string, HubSpotRecord | RecordFault>;

const JSON_TYPE = 'application/json';

/** Sends a sink's requests to HubSpot, within the limits of the account. */
export class HubSpotApi {
  readonly addressee: Addressee;
  readonly #base: URL;
  readonly #token: HubSpotOptions['token'];
  readonly #server: ApiServer;
  readonly #limits: AccountLimits;

  constructor({ token, api_url: base }: Pick<HubSpotOptions, 'token' | 'api_url'>, parts: SinkParts) {
    this.#base = new URL(base);
    this.#token = token;
    this.addressee = { sink: parts.name, origin: this.#base.origin };
    this.#server = new ApiServer(this.#base.origin, parts);
    this.#limits = new AccountLimits(parts.clock);
  }

  /** How much of the account's daily limit is used, according to the last answer. */
  get quota(): Quota | undefined {
    return this.#limits.quota;
  }

  /** Allows the next request, although an earlier answer said that the account has none left today. */
  lookAgain(): void {
    this.#limits.lookAgain();
  }

  /** Returns the address of a request, for previews. */
  address(path: string): string {
    return `${this.#base.href.replace(/\/$/, '')}${path}`;
  }

  /** Reads records by the values of a property, or by their ids. Records that do not exist are absent. @throws SinkUnavailable */
  async read(
    object: ObjectName,
    {
      by,
      ids,
      properties,
    }: { readonly by?: string; readonly ids: readonly string[]; readonly properties: readonly string[] },
    limits: CallLimits,
  ): Promise<readonly HubSpotRecord[]> {
    const records: HubSpotRecord[] = [];
    const request = {
      path: objectPath(object, 'batch/read'),
      bodyOf: (part: readonly string[]) => ({
        inputs: part.map((id) => ({ id })),
        properties,
        ...(by === undefined ? {} : { idProperty: by }),
      }),
      readResult: readBatch,
    };
    // A part without a result is an id that HubSpot does not accept, so no record has it.
    for await (const { result } of this.#inParts(ids, request, { ...limits, sendsLeads: false }))
      records.push(...(result?.records.map(({ of }) => of) ?? []));
    return records;
  }

  /**
   * Writes records with one of the batch requests, and returns what became of each. `keyOf` returns the value by which a record is recognised in
   * an answer without trace ids. If HubSpot refuses a request as a whole because of its records, or does not say which of them are at fault,
   * splits the request until the record at fault is alone. @throws SinkUnavailable
   */
  async write(
    object: ObjectName,
    verb: 'create' | 'update' | 'upsert',
    inputs: readonly RecordInput[],
    {
      limits,
      keyOf,
    }: {
      readonly limits: CallLimits;
      readonly keyOf: (one: RecordInput | HubSpotRecord) => string | undefined;
    },
  ): Promise<Written> {
    const written = new Map<string, HubSpotRecord | RecordFault>();
    const request = {
      path: objectPath(object, `batch/${verb}`),
      bodyOf: (part: readonly RecordInput[]) => ({ inputs: part }),
      readResult: (body: Readonly<Record<string, unknown>>, part: readonly RecordInput[], answer: Answer) => {
        const batch = readBatch(body);
        return batch && matchResults(part, batch, { answer, addressee: this.addressee, keyOf });
      },
      unclearIn: ({ unclear }: MatchedResults) => unclear,
    };
    for await (const { part, result, fault } of this.#inParts(inputs, request, {
      ...limits,
      sendsLeads: true,
    }))
      if (result) for (const [traceId, of] of result.written) written.set(traceId, of);
      else for (const { objectWriteTraceId } of part) written.set(objectWriteTraceId, fault);
    return written;
  }

  /**
   * Links contacts to records, by the default association. Safe to repeat. Returns the faults of the links that were not created, by the id of the
   * record.
   * @throws SinkUnavailable
   */
  async associate(
    object: Exclude<ObjectName, 'contacts'>,
    links: readonly Link[],
    limits: CallLimits,
  ): Promise<ReadonlyMap<string, RecordFault>> {
    const faults = new Map<string, RecordFault>();
    const request = {
      path: `/crm/associations/${VERSION}/contacts/${object}/batch/associate/default`,
      bodyOf: (part: readonly Link[]) => ({
        inputs: part.map(({ contact, record }) => ({ from: { id: contact }, to: { id: record } })),
      }),
      readResult: readLinks,
    };
    for await (const { part, answer, result, fault } of this.#inParts(links, request, {
      ...limits,
      sendsLeads: true,
    }))
      for (const link of part)
        if (!result?.has(linkText(link)))
          faults.set(link.record, fault ?? unnamed(this.addressee, answer.httpStatus));
    return faults;
  }

  /**
   * Makes any other request. Returns the JSON of the answer; undefined if the answer is empty or `isExpected`. @throws SinkUnavailable for every
   * other answer that is not a success
   */
  async ask(
    method: 'GET' | 'POST' | 'DELETE',
    path: string,
    { stop, confirmLease }: Pick<CallLimits, 'stop' | 'confirmLease'>,
    {
      body,
      isExpected = () => false,
    }: { readonly body?: object; readonly isExpected?: (status: number) => boolean } = {},
  ): Promise<Readonly<Record<string, unknown>> | undefined> {
    const answer = await this.#call(method, path, body, { stop, confirmLease });
    if (isExpected(answer.httpStatus)) return undefined;
    if (!isSuccess(answer)) throw this.#failure(answer, path).beforeSending();
    if (answer.httpStatus === 204) return undefined;
    const read = readBody(answer);
    if (read === undefined) throw this.#failure(answer, path).beforeSending();
    return read;
  }

  /** Requests a list. Returns its `results`, and the whole answer. @throws SinkUnavailable, also if the answer is not a list */
  async list(
    path: string,
    limits: Pick<CallLimits, 'stop' | 'confirmLease'>,
  ): Promise<{ readonly results: readonly unknown[]; readonly answer: Readonly<Record<string, unknown>> }> {
    const answer = (await this.ask('GET', path, limits)) ?? {};
    if (Array.isArray(answer['results'])) return { results: answer['results'], answer };
    throw new SinkUnavailable(
      `HubSpot at ${this.addressee.origin} answered without the list that leadsync requested.`,
      {
        hint: 'Check `api_url`, and whether a proxy answers in place of HubSpot.',
        unsent: true,
      },
    );
  }

  close(): Promise<void> {
    return this.#server.close();
  }

  /** Makes a request in parts. Yields each answer with its items, or the fault of an item. @throws SinkUnavailable */
  #inParts<Item, Result>(
    items: readonly Item[],
    request: BatchRequest<Item, Result>,
    limits: CallLimits,
  ): AsyncGenerator<Part<Item, Result>> {
    return inParts(items, request, {
      send: (body) => this.#call('POST', request.path, body, limits),
      faultOf: (answer) => this.#faultOf(answer, request.path, limits),
    });
  }

  /** Returns the fault of the record because of which an answer refuses the request. @throws SinkUnavailable if the answer blames no record */
  #faultOf(answer: Answer, path: string, { sendsLeads = false }: CallLimits): RecordFault {
    const known = { httpStatus: answer.httpStatus, answer: storedAnswer(answer.text) };
    const fault = blamesRecords(answer)
      ? judgeFault(readFault(readBody(answer)), this.addressee, known)
      : this.#failure(answer, path);
    if (fault instanceof SinkUnavailable) throw sendsLeads ? fault : fault.beforeSending();
    return fault;
  }

  #failure(answer: Answer, path: string): SinkUnavailable {
    const [known = ''] = path.split('?');
    return requestFailure(answer, known, this.addressee);
  }

  async #call(
    method: 'GET' | 'POST' | 'DELETE',
    path: string,
    body: object | undefined,
    limits: CallLimits,
  ): Promise<Answer> {
    const waitMs = this.#limits.waitMs();
    if (waitMs > 0) throw withoutRequestsLeft(this.addressee, waitMs);
    const answered = await this.#limits.take(limits.stop);
    const headers = {
      authorization: `Bearer ${this.#token.reveal()}`,
      accept: JSON_TYPE,
      ...(body === undefined ? {} : { 'content-type': JSON_TYPE }),
    };
    const prefix = this.#base.pathname.replace(/\/$/, '');
    const request = {
      method,
      path: `${prefix}${path}`,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    };
    let answer: Answer | undefined;
    try {
      answer = await this.#server.call(request, limits);
      return answer;
    } finally {
      answered(answer);
    }
  }
}

/** Returns the API path for an object type, such as `contacts`, followed by `rest`. */
export function objectPath(object: ObjectName, rest: string): string {
  return `/crm/objects/${VERSION}/${object}/${rest}`;
}
