import { type Answer, ApiServer, type CallLimits } from '../api-server.ts';
import { RequestWindow } from '../crm/request-window.ts';
import type { SinkParts, SinkUnavailable } from '../sink.ts';
import {
  type Addressee,
  blamesRecords,
  judgeFault,
  type RecordFault,
  requestFailure,
  storedAnswer,
  unnamed,
} from './judge-fault.ts';
import type { HubSpotOptions } from './options.ts';
import { type BatchAnswer, type HubSpotRecord, readBatch, readBody, readFault } from './read-answer.ts';

/** The version of the API, in the paths (https://developers.hubspot.com/docs/api-reference/overview). Supported until March 2028. */
export const VERSION = '2026-09';

/** The objects that leadsync writes, by their name in paths. */
export type ObjectName = 'contacts' | 'deals' | 'leads';

/** A record to write. The trace id is that of the record in this request. */
export interface RecordInput {
  readonly objectWriteTraceId: string;
  readonly id?: string;
  readonly idProperty?: string;
  readonly properties: Readonly<Record<string, string>>;
  readonly associations?: readonly object[];
}

/** What became of each input, by its trace id. */
export type Written = ReadonlyMap<string, HubSpotRecord | RecordFault>;

/** Maximum records of one request. */
const MAX_INPUTS = 100;
/** The least that HubSpot allows: the limit of a free account, per private app or service key. */
const LEAST_LIMIT = { requests: 100, perMs: 10_000 };
const JSON_TYPE = 'application/json';

/** The requests to HubSpot that a sink makes. Keeps them within the limit of the account. */
export class HubSpotApi {
  readonly addressee: Addressee;
  readonly #base: URL;
  readonly #token: HubSpotOptions['token'];
  readonly #server: ApiServer;
  readonly #window: RequestWindow;

  constructor({ token, api_url: base }: Pick<HubSpotOptions, 'token' | 'api_url'>, parts: SinkParts) {
    this.#base = new URL(base);
    this.#token = token;
    this.addressee = { sink: parts.name, origin: this.#base.origin };
    this.#server = new ApiServer(this.#base.origin, parts);
    this.#window = new RequestWindow(parts.clock, LEAST_LIMIT);
  }

  /** Returns the address of a request, for previews. */
  address(path: string): string {
    return `${this.#base.href.replace(/\/$/, '')}${path}`;
  }

  /** Reads records by the values of a property, or by their ids. Those that do not exist are absent. @throws SinkUnavailable */
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
    for (let at = 0; at < ids.length; at += MAX_INPUTS) {
      const body = {
        inputs: ids.slice(at, at + MAX_INPUTS).map((id) => ({ id })),
        properties,
        ...(by === undefined ? {} : { idProperty: by }),
      };
      const answer = await this.#call('POST', objectPath(object, 'batch/read'), body, {
        ...limits,
        sendsLeads: false,
      });
      const batch = isSuccess(answer) ? readBatch(readBody(answer)) : undefined;
      if (!batch) throw this.#failure(answer).beforeSending();
      records.push(...batch.records.map(({ of }) => of));
    }
    return records;
  }

  /**
   * Writes records with one of the batch requests, and returns what became of each. `keyOf` returns the value by which a record is
   * recognised in an answer without trace ids. If HubSpot refuses a request as a whole because of its records, divides it until the record at
   * fault is alone. @throws SinkUnavailable
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
    const waiting = inputs.length === 0 ? [] : [inputs];
    for (let part = waiting.shift(); part; part = waiting.shift()) {
      const answer = await this.#call(
        'POST',
        objectPath(object, `batch/${verb}`),
        { inputs: part },
        { ...limits, sendsLeads: true },
      );
      const batch = isSuccess(answer) ? readBatch(readBody(answer)) : undefined;
      if (batch) this.#note(written, part, batch, answer, keyOf);
      else if (!blamesRecords(answer)) throw this.#failure(answer);
      else if (part.length > 1) {
        const middle = Math.ceil(part.length / 2);
        waiting.unshift(part.slice(0, middle), part.slice(middle));
      } else for (const { objectWriteTraceId } of part) written.set(objectWriteTraceId, this.#judge(answer));
    }
    return written;
  }

  /** Links contacts with records, by the default association. May be repeated. @throws SinkUnavailable */
  async associate(
    object: Exclude<ObjectName, 'contacts'>,
    links: readonly { readonly contact: string; readonly record: string }[],
    limits: CallLimits,
  ): Promise<void> {
    if (links.length === 0) return;
    const path = `/crm/associations/${VERSION}/contacts/${object}/batch/associate/default`;
    const inputs = links.map(({ contact, record }) => ({ from: { id: contact }, to: { id: record } }));
    const answer = await this.#call('POST', path, { inputs }, { ...limits, sendsLeads: true });
    const body = readBody(answer);
    const batch = isSuccess(answer) ? readBatch(body) : undefined;
    if (!batch) throw this.#failure(answer);
    if (batch.faults.length > 0 || !Array.isArray(body?.['results']) || body['results'].length < links.length)
      throw unnamed(this.addressee, answer.httpStatus);
  }

  /** Makes another request, and returns its JSON. @throws SinkUnavailable for every answer other than success, unless `isExpected` */
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
    if (!isSuccess(answer)) throw this.#failure(answer).beforeSending();
    if (answer.httpStatus === 204) return undefined;
    const read = readBody(answer);
    if (read === undefined) throw this.#failure(answer).beforeSending();
    return read;
  }

  close(): Promise<void> {
    return this.#server.close();
  }

  #note(
    written: Map<string, HubSpotRecord | RecordFault>,
    inputs: readonly RecordInput[],
    batch: BatchAnswer,
    answer: Answer,
    keyOf: (one: RecordInput | HubSpotRecord) => string | undefined,
  ): void {
    const byValue = new Map(inputs.map((input) => [keyOf(input), input.objectWriteTraceId]));
    for (const { traceId, of } of batch.records) {
      const id = traceId ?? byValue.get(keyOf(of));
      if (id !== undefined) written.set(id, of);
    }
    const known = { httpStatus: answer.httpStatus, answer: storedAnswer(answer) };
    for (const { traceId, of } of batch.faults)
      if (traceId !== undefined) written.set(traceId, judgeFault(of, this.addressee, known));
    for (const { objectWriteTraceId } of inputs)
      if (!written.has(objectWriteTraceId))
        written.set(objectWriteTraceId, unnamed(this.addressee, answer.httpStatus));
  }

  #judge(answer: Answer): RecordFault {
    const { httpStatus } = answer;
    return judgeFault(readFault(readBody(answer)), this.addressee, {
      httpStatus,
      answer: storedAnswer(answer),
    });
  }

  #failure(answer: Answer): SinkUnavailable {
    return requestFailure(answer, this.addressee);
  }

  async #call(
    method: 'GET' | 'POST' | 'DELETE',
    path: string,
    body: object | undefined,
    limits: CallLimits,
  ): Promise<Answer> {
    await this.#window.take(limits.stop);
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
    const answer = await this.#server.call(request, limits);
    this.#learn(answer);
    return answer;
  }

  #learn({ header }: Answer): void {
    const number = (name: string) => Number(header(`x-hubspot-ratelimit-${name}`) ?? Number.NaN);
    const [requests, perMs, remaining] = [
      number('max'),
      number('interval-milliseconds'),
      number('remaining'),
    ];
    if (requests > 0 && perMs > 0 && remaining >= 0) this.#window.learn({ requests, perMs, remaining });
  }
}

/** Returns the path of a request for an object. */
export function objectPath(object: ObjectName, rest: string): string {
  return `/crm/objects/${VERSION}/${object}/${rest}`;
}

function isSuccess({ httpStatus }: Answer): boolean {
  return httpStatus >= 200 && httpStatus < 300;
}
