import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Clock, systemClock } from '../../../src/platform/time/clock.ts';
import { Misbehaviours } from '../misbehaviour.ts';
import type { Handler } from './api-request.ts';
import { Company } from './company.ts';
import type { Field, FieldOwner, FieldRequest } from './custom-fields.ts';
import { type FaultName, planOf, sendAnswer } from './faults.ts';
import { handlersOf } from './handlers.ts';
import { type LimitOptions, type LimitState, Limits } from './limits.ts';
import type { Deal, Lead, Note, Person } from './records.ts';
import { bodyOf, parsed } from './request-body.ts';
import { type Matched, matchRoute, type RouteName, routes } from './routes.ts';
import { type PipedriveSettings, usualSettings } from './settings.ts';
import { fixedAnswers, notFound, Refusal, type VendorAnswer } from './vendor-answer.ts';

/** How the stub starts. Every setting may be given. */
export interface PipedriveStubOptions extends Partial<PipedriveSettings> {
  /** A free port if absent. */
  readonly port?: number;
  /** The API token that the stub accepts. */
  readonly token?: string;
  /** Determines the codes of custom fields, which differ per account. */
  readonly account?: string;
  /** The time of limits, of the search's lag and of all records; this machine's by default. */
  readonly clock?: Pick<Clock, 'now' | 'monotonicMs'>;
  /** No limits if absent. */
  readonly limits?: LimitOptions;
  /** Number of requests kept in `requests`: the last 10,000 by default. */
  readonly requestsKept?: number;
}

/** A request to misbehave. */
export interface MisbehaveRequest {
  readonly fault: FaultName;
  /** The operation that misbehaves; every one by default. */
  readonly at?: RouteName;
  /** Number of requests that get it; until `behave()` if absent. Several misbehaviours of an operation follow one another. */
  readonly times?: number;
  /** What the stub waits for before it answers. */
  readonly until?: Promise<unknown>;
}

/** An answer in place of the usual one. */
export interface StubAnswer extends VendorAnswer {
  /** Whether the request is carried out all the same. */
  readonly stores?: boolean;
}

/** A received request. */
export interface PipedriveRequest {
  readonly method: string;
  /** The path with its query. */
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: IncomingHttpHeaders;
  /** The parsed JSON; the text if it is none, and undefined without a body. */
  readonly body: unknown;
  /** Undefined if there is nothing at the path. */
  readonly route: RouteName | undefined;
  readonly at: Date;
  /** Undefined until the stub answers, and if it never does. */
  status: number | undefined;
}

/** A company at Pipedrive on 127.0.0.1, and its controls. */
export interface PipedriveStub {
  /** `http://127.0.0.1:…`, in place of `https://COMPANY.pipedrive.com`. */
  readonly url: string;
  readonly token: string;
  /** The settings, which a test may change at any time. */
  readonly settings: PipedriveSettings;
  /** What is stored, oldest first, with deleted persons and deals. */
  readonly records: {
    readonly persons: readonly Person[];
    readonly leads: readonly Lead[];
    readonly deals: readonly Deal[];
    readonly notes: readonly Note[];
  };
  /** The fields of deals and persons, Pipedrive's own first. */
  readonly fields: Readonly<Record<FieldOwner, readonly Field[]>>;
  /** The last requests, oldest first, whatever their answers. */
  readonly requests: readonly PipedriveRequest[];
  /** The state of the daily limit; undefined without limits. */
  readonly limits: LimitState | undefined;
  addField(owner: FieldOwner, request: FieldRequest): Field;
  deleteField(owner: FieldOwner, code: string): void;
  /** Adds pipelines and stages until there are this many of both, with the ids from 1. */
  fillPipelines(count: number): void;
  /** Archives a lead or a deal, as a person would in Pipedrive. */
  archive(object: 'leads' | 'deals', id: number | string): void;
  /** Deletes a record, as a person would in Pipedrive. */
  remove(object: 'persons' | 'leads' | 'deals', id: number | string): void;
  /** Merges a person into another, as a person would in Pipedrive. */
  merge(id: number, into: number): void;
  /** Leaves this much of the day's tokens. @throws Error without limits */
  useUpTokens(left?: number): void;
  /** Sets the answers to the next requests to an operation, in order. */
  answerNext(at: RouteName, ...answers: readonly StubAnswer[]): void;
  misbehave(request: MisbehaveRequest): void;
  /** Ends all misbehaviours, and drops the answers that `answerNext` set. */
  behave(): void;
  close(): Promise<void>;
}

/** Starts a company at Pipedrive: no records, and only Pipedrive's own fields. */
export async function startPipedriveStub(options: PipedriveStubOptions = {}): Promise<PipedriveStub> {
  const stub = new RunningStub(options);
  await stub.listen(options.port ?? 0);
  return stub;
}

class RunningStub implements PipedriveStub {
  url = '';
  readonly token: string;
  readonly settings: PipedriveSettings;
  readonly requests: PipedriveRequest[] = [];
  readonly #clock: Pick<Clock, 'now' | 'monotonicMs'>;
  readonly #requestsKept: number;
  readonly #company: Company;
  readonly #handlers: Readonly<Record<RouteName, Handler>>;
  readonly #limits: Limits | undefined;
  readonly #misbehaviours = new Map<RouteName | undefined, Misbehaviours<FaultName>>();
  readonly #answers = new Map<RouteName, StubAnswer[]>();
  readonly #server = createServer((req, res) => {
    this.#serve(req, res).catch(() => res.destroy());
  });

  constructor(options: PipedriveStubOptions) {
    const {
      port,
      token = 'stub-token',
      account = 'example',
      clock,
      limits,
      requestsKept,
      ...settings
    } = options;
    this.token = token;
    this.settings = { ...usualSettings, ...settings };
    this.#clock = inWholeMs(clock ?? systemClock);
    this.#requestsKept = requestsKept ?? 10_000;
    this.#company = new Company(account, this.settings, this.#clock);
    this.#handlers = handlersOf(this.#company);
    this.#limits = limits && new Limits(limits, this.#clock);
  }

  async listen(port: number): Promise<void> {
    this.#server.listen(port, '127.0.0.1');
    await once(this.#server, 'listening');
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get records() {
    const { persons, leads, deals, notes } = this.#company;
    return {
      persons: [...persons.values()],
      leads: [...leads.values()],
      deals: [...deals.values()],
      notes: [...notes.values()],
    };
  }

  get fields() {
    return { deal: this.#company.dealFields.all(), person: this.#company.personFields.all() };
  }

  get limits(): LimitState | undefined {
    return this.#limits?.state;
  }

  addField(owner: FieldOwner, request: FieldRequest): Field {
    return this.#fieldsOf(owner).add(request);
  }

  deleteField(owner: FieldOwner, code: string): void {
    this.#fieldsOf(owner).remove(code);
  }

  fillPipelines(count: number): void {
    this.#company.fillPipelines(count);
  }

  archive(object: 'leads' | 'deals', id: number | string): void {
    const { leads, deals } = this.#company;
    if (object === 'leads') this.#company.storeLead({ ...existing(leads, String(id)), is_archived: true });
    else this.#company.storeDeal({ ...existing(deals, Number(id)), is_archived: true });
  }

  remove(object: 'persons' | 'leads' | 'deals', id: number | string): void {
    const { persons, leads, deals } = this.#company;
    const deleted = { is_deleted: true, update_time: this.#company.now() };
    if (object === 'leads') this.#company.removeLead(existing(leads, String(id)).id);
    else if (object === 'deals') this.#company.storeDeal({ ...existing(deals, Number(id)), ...deleted });
    else this.#company.storePerson({ ...existing(persons, Number(id)), ...deleted });
  }

  merge(id: number, into: number): void {
    this.#company.mergePerson(id, into);
  }

  useUpTokens(left = 0): void {
    if (this.#limits === undefined) throw new Error('the stub was started without limits');
    this.#limits.useUpTokens(left);
  }

  answerNext(at: RouteName, ...answers: readonly StubAnswer[]): void {
    this.#answers.set(at, [...(this.#answers.get(at) ?? []), ...answers]);
  }

  misbehave({ fault, at, times, until }: MisbehaveRequest): void {
    const queue = this.#misbehaviours.get(at) ?? new Misbehaviours<FaultName>();
    this.#misbehaviours.set(at, queue);
    queue.add({ name: fault, until }, times);
  }

  behave(): void {
    this.#misbehaviours.clear();
    this.#answers.clear();
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async #serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const url = new URL(req.url ?? '/', this.url);
    const chunks: Buffer[] = [];
    for await (const chunk of req as AsyncIterable<Buffer>) chunks.push(chunk);
    if (url.pathname.startsWith('/stub/')) return this.#show(url, res);
    const matched = matchRoute(req.method ?? '', url.pathname);
    const body = parsed(Buffer.concat(chunks).toString());
    const name = typeof matched === 'object' ? matched.name : undefined;
    const request = this.#note(req, res, url, name, body);
    const handle = () => this.#handle(request, matched, url);
    const answer = name && this.#answers.get(name)?.shift();
    if (answer) {
      if (answer.stores) handle();
      return sendAnswer(res, answer);
    }
    await this.#answer(res, name, handle);
  }

  /** Answers as the next misbehaviour of the operation says, or else correctly. */
  async #answer(res: ServerResponse, name: RouteName | undefined, handle: () => VendorAnswer): Promise<void> {
    const misbehaviour = this.#misbehaviours.get(name)?.next() ?? this.#misbehaviours.get(undefined)?.next();
    if (misbehaviour === undefined) return sendAnswer(res, handle());
    const { stores, send } = planOf(misbehaviour.name);
    const first = stores === 'first' ? handle() : undefined;
    await misbehaviour.until;
    send(res, stores === 'after-waiting' ? handle() : first);
  }

  #handle(request: PipedriveRequest, matched: Matched | 'wrong-method' | undefined, url: URL): VendorAnswer {
    if (this.settings.tokenRevoked || request.headers['x-api-token'] !== this.token) {
      return fixedAnswers.unauthorized;
    }
    if (!this.settings.accountOpen) return fixedAnswers.accountNotOpen;
    if (matched === undefined) return notFound('Unknown method .');
    if (matched === 'wrong-method') return fixedAnswers.methodNotAllowed;
    const counted = this.#limits?.count(routes[matched.name]) ?? { headers: {} };
    if ('refused' in counted) return counted.refused;
    const answer = this.#carryOut(request, matched, url.searchParams);
    return { ...answer, headers: { ...answer.headers, ...counted.headers } };
  }

  #carryOut({ method, headers, body }: PipedriveRequest, { name, id }: Matched, query: URLSearchParams) {
    try {
      return this.#handlers[name]({ query, id, body: bodyOf(method, headers, body) });
    } catch (error) {
      if (error instanceof Refusal) return error.answer;
      throw error;
    }
  }

  #note(
    req: IncomingMessage,
    res: ServerResponse,
    url: URL,
    route: RouteName | undefined,
    body: unknown,
  ): PipedriveRequest {
    const request: PipedriveRequest = {
      method: req.method ?? '',
      path: req.url ?? '',
      query: Object.fromEntries(url.searchParams),
      headers: req.headers,
      body,
      route,
      at: this.#clock.now(),
      status: undefined,
    };
    this.requests.push(request);
    if (this.requests.length > this.#requestsKept) this.requests.shift();
    res.once('finish', () => {
      request.status = res.statusCode;
    });
    return request;
  }

  /** Answers `/stub/records`, `/stub/fields` and `/stub/requests`, which Pipedrive does not have, for trying by hand. */
  #show({ pathname }: URL, res: ServerResponse): void {
    const { records, fields, requests } = this;
    const shown = { records, fields, requests }[pathname.slice('/stub/'.length)];
    sendAnswer(res, shown === undefined ? notFound() : { status: 200, body: shown });
  }

  #fieldsOf(owner: FieldOwner) {
    return owner === 'deal' ? this.#company.dealFields : this.#company.personFields;
  }
}

function existing<Id, Kept>(records: ReadonlyMap<Id, Kept>, id: Id): Kept {
  const record = records.get(id);
  if (record === undefined) throw new Error(`the stub has no record ${id}`);
  return record;
}

/** Returns the clock without its fractions of a ms, so that what a test lets pass is exactly what has passed. */
function inWholeMs(clock: Pick<Clock, 'now' | 'monotonicMs'>): Pick<Clock, 'now' | 'monotonicMs'> {
  return { now: () => clock.now(), monotonicMs: () => Math.floor(clock.monotonicMs()) };
}
