import type { Quota } from '../../leads/quota.ts';
import { type Answer, ApiServer, type CallLimits } from '../api-server.ts';
import { type SinkParts, SinkUnavailable } from '../sink.ts';
import { AccountLimits } from './account-limits.ts';
import {
  type Addressee,
  blamesRecords,
  judgeFault,
  type RecordFault,
  requestFailure,
  storedAnswer,
  unnamed,
  withoutRequestsLeft,
} from './judge-fault.ts';
import type { HubSpotOptions } from './options.ts';
import {
  type BatchAnswer,
  type HubSpotRecord,
  readBatch,
  readBody,
  readFault,
  readLinks,
} from './read-answer.ts';

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

/** A contact and a record to link, by their ids. */
interface Link {
  readonly contact: string;
  readonly record: string;
}

/** A request about several items. */
interface BatchRequest<Item, Result> {
  readonly path: string;
  bodyOf(part: readonly Item[]): object;
  /** Returns what the body of an answer says; undefined if it is no answer to such a request. */
  readResult(body: Readonly<Record<string, unknown>>): Result | undefined;
}

/** What became of some items of a request: the result of all of them, or the fault of one. */
type Part<Item, Result> = { readonly part: readonly Item[]; readonly answer: Answer } & (
  | { readonly result: Result; readonly fault?: undefined }
  | { readonly result?: undefined; readonly fault: RecordFault }
);

/** Maximum records of one request. */
export const MAX_INPUTS = 100;
const JSON_TYPE = 'application/json';

/** The requests to HubSpot that a sink makes. Keeps them within the limit of the account. */
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

  /** How much of the daily limit of the account is used, as the last answer said. */
  get quota(): Quota | undefined {
    return this.#limits.quota;
  }

  /** Lets the next request ask HubSpot, although an earlier answer said that none is left today. */
  lookAgain(): void {
    this.#limits.lookAgain();
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
    const request = {
      path: objectPath(object, 'batch/read'),
      bodyOf: (part: readonly string[]) => ({
        inputs: part.map((id) => ({ id })),
        properties,
        ...(by === undefined ? {} : { idProperty: by }),
      }),
      readResult: readBatch,
    };
    // No record has an id that HubSpot does not take as one.
    for await (const { result } of this.#inParts(ids, request, { ...limits, sendsLeads: false }))
      records.push(...(result?.records.map(({ of }) => of) ?? []));
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
    const request = {
      path: objectPath(object, `batch/${verb}`),
      bodyOf: (part: readonly RecordInput[]) => ({ inputs: part }),
      readResult: readBatch,
    };
    for await (const { part, answer, result, fault } of this.#inParts(inputs, request, {
      ...limits,
      sendsLeads: true,
    }))
      if (result) this.#note(written, part, result, answer, keyOf);
      else for (const { objectWriteTraceId } of part) written.set(objectWriteTraceId, fault);
    return written;
  }

  /**
   * Links contacts with records, by the default association. May be repeated. Returns why a link was not made, by the id of the record.
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
      for (const { record } of part)
        if (!result?.has(record)) faults.set(record, fault ?? unnamed(this.addressee, answer.httpStatus));
    return faults;
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
    if (!isSuccess(answer)) throw this.#failure(answer, path).beforeSending();
    if (answer.httpStatus === 204) return undefined;
    const read = readBody(answer);
    if (read === undefined) throw this.#failure(answer, path).beforeSending();
    return read;
  }

  /** Returns the `results` of a list, and its whole answer. @throws SinkUnavailable, also for an answer that is no list */
  async list(
    path: string,
    limits: Pick<CallLimits, 'stop' | 'confirmLease'>,
  ): Promise<{ readonly results: readonly unknown[]; readonly answer: Readonly<Record<string, unknown>> }> {
    const answer = (await this.ask('GET', path, limits)) ?? {};
    if (Array.isArray(answer['results'])) return { results: answer['results'], answer };
    throw new SinkUnavailable(
      `HubSpot at ${this.addressee.origin} answered without the list that was asked for.`,
      {
        hint: 'Check `api_url`, and whether a proxy answers in place of HubSpot.',
        unsent: true,
      },
    );
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

  /**
   * Makes a request for items, at most 100 at once. If HubSpot refuses it because of an item, divides the items until the one at fault is alone.
   * Yields each answer with its items, or the fault of an item. @throws SinkUnavailable
   */
  async *#inParts<Item, Result>(
    items: readonly Item[],
    { path, bodyOf, readResult }: BatchRequest<Item, Result>,
    limits: CallLimits,
  ): AsyncGenerator<Part<Item, Result>> {
    const waiting = chunksOf(items, MAX_INPUTS);
    for (let part = waiting.shift(); part; part = waiting.shift()) {
      const answer = await this.#call('POST', path, bodyOf(part), limits);
      const body = readBody(answer);
      const result = isSuccess(answer) && body ? readResult(body) : undefined;
      if (result !== undefined) {
        yield { part, answer, result };
        continue;
      }
      const known = { httpStatus: answer.httpStatus, answer: storedAnswer(answer) };
      const fault = blamesRecords(answer)
        ? judgeFault(readFault(body), this.addressee, known)
        : this.#failure(answer, path);
      if (fault instanceof SinkUnavailable) throw limits.sendsLeads ? fault : fault.beforeSending();
      if (part.length > 1) waiting.unshift(...chunksOf(part, Math.ceil(part.length / 2)));
      else yield { part, answer, fault };
    }
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

/** Returns the path of a request for an object. */
export function objectPath(object: ObjectName, rest: string): string {
  return `/crm/objects/${VERSION}/${object}/${rest}`;
}

function isSuccess({ httpStatus }: Answer): boolean {
  return httpStatus >= 200 && httpStatus < 300;
}

/** Returns the items in chunks of at most `size`. */
export function chunksOf<Item>(items: readonly Item[], size: number): (readonly Item[])[] {
  const chunks: (readonly Item[])[] = [];
  for (let at = 0; at < items.length; at += size) chunks.push(items.slice(at, at + size));
  return chunks;
}
