import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Misbehaviour, Misbehaviours } from '../misbehaviour.ts';
import { type Answer, notFound } from './answer.ts';
import { ApiUsage } from './api-usage.ts';
import { type FaultName, faults, type NoAnswer, type ReplacedAnswer } from './faults.ts';
import { type Field, field } from './field.ts';
import type { FieldValue } from './field-value.ts';
import { type KeyField, prepareKeyField, showField } from './key-field.ts';
import type { StoredRecord } from './object-table.ts';
import { type OpenQuestions, Org, type OrgSettings } from './org.ts';
import { RestApi } from './rest-api.ts';
import { sendAnswer } from './send-answer.ts';
import { Sessions } from './sessions.ts';
import { answerSoap } from './soap-api.ts';

/** How the org is set up before the first request. */
export interface SalesforceStubOptions {
  /** A free port if absent. */
  readonly port?: number;
  readonly clientId?: string;
  readonly clientSecret?: string;
  /** The state of the field `Lead.Leadsync_Key__c`; `ready` by default. */
  readonly keyField?: KeyField;
  /** Limit of requests in 24 hours: `DAILY_REQUESTS`. Without it, requests are counted and never refused. */
  readonly dailyRequests?: number;
  /** The time after which an unused session ends, in seconds; 2 hours by default. */
  readonly sessionSeconds?: number;
  /** How the stub answers where Salesforce's documents leave it open. */
  readonly questions?: Partial<OpenQuestions>;
  /** The clock of Salesforce. */
  readonly clock?: { now(): Date };
}

/** The endpoints that can misbehave: the token endpoint, upserts by sObject Collections, and the rest of the REST API. */
export type Endpoint = 'token' | 'upsert' | 'data';

/** A request to misbehave, at one endpoint or several. */
export interface SalesforceMisbehaveRequest extends Partial<Readonly<Record<Endpoint, FaultName>>> {
  /** Number of requests that get it; until `behave()` if absent. Several misbehaviours follow one another. */
  readonly times?: number;
  /** The delay of answers, in ms. */
  readonly delayMs?: number;
  /** Replaces `delayMs`: answers wait for this promise. */
  readonly until?: Promise<unknown>;
}

/** A request as it arrived. */
export interface SalesforceRequest {
  readonly method: string;
  /** The path with its query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly at: Date;
  /** Undefined until the stub answers, and if it never does. */
  status: number | undefined;
}

/** A running Salesforce org, and its controls. */
export interface SalesforceStub {
  /** `http://127.0.0.1:…`: the My Domain address, and the `instance_url` of its tokens. */
  readonly url: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** The id of the user that the app runs as. */
  readonly userId: string;
  readonly organizationId: string;
  /** The records of each object that are not deleted, oldest first: `records['Lead']`. */
  readonly records: Readonly<Record<string, readonly StoredRecord[]>>;
  /** Every request, oldest first. */
  readonly requests: readonly SalesforceRequest[];
  /** What an administrator may change at any time. */
  readonly settings: OrgSettings;
  /** Requests of the last 24 hours, of `limit`. `use` counts some of another application. */
  readonly usage: Pick<ApiUsage, 'used' | 'limit' | 'use'>;
  /** Stores a record as a person does, past every rule. @returns its id */
  add(object: string, fields: Readonly<Record<string, FieldValue>>): string;
  /** Changes a record past every rule: `{ IsConverted: true }` converts a lead. */
  change(id: string, fields: Readonly<Record<string, FieldValue>>): void;
  /** Puts a record into the recycle bin. */
  remove(id: string): void;
  /** Changes a field of an object, or adds one that the user may edit. */
  changeField(object: string, name: string, changes: Partial<Field>): void;
  removeField(object: string, name: string): void;
  /** Sets what the user may do with a custom field. */
  showField(object: string, name: string, access: 'edit' | 'read' | 'hidden'): void;
  /** Ends every session: the next request with one of their tokens gets 401. */
  revokeSessions(): void;
  misbehave(request: SalesforceMisbehaveRequest): void;
  /** Ends all misbehaviours and forgets the answers of `answerNext`. */
  behave(): void;
  /** Answers the next requests to an endpoint so, in order; they store nothing unless `stores`. */
  answerNext(endpoint: Endpoint, ...answers: readonly (ReplacedAnswer | NoAnswer)[]): void;
  close(): Promise<void>;
}

/** Starts an org on 127.0.0.1. It follows Salesforce's documents until a test makes it misbehave. */
export async function startSalesforceStub(options: SalesforceStubOptions = {}): Promise<SalesforceStub> {
  const stub = new RunningStub(options);
  await stub.listen(options.port ?? 0);
  return stub;
}

const SESSION_SECONDS = 7_200;

class RunningStub implements SalesforceStub {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly requests: SalesforceRequest[] = [];
  readonly usage: ApiUsage;
  url = '';
  readonly #org: Org;
  readonly #sessions: Sessions;
  readonly #api: RestApi;
  readonly #now: () => Date;
  readonly #misbehaviours = {
    token: new Misbehaviours<FaultName>(),
    upsert: new Misbehaviours<FaultName>(),
    data: new Misbehaviours<FaultName>(),
  };
  readonly #next: Record<Endpoint, (ReplacedAnswer | NoAnswer)[]> = { token: [], upsert: [], data: [] };
  readonly #server = createServer((req, res) => {
    this.#serve(req, res).catch(() => res.destroy());
  });

  constructor(options: SalesforceStubOptions) {
    const clock = options.clock ?? { now: () => new Date() };
    this.#now = () => clock.now();
    this.clientId = options.clientId ?? 'demo-client';
    this.clientSecret = options.clientSecret ?? 'demo-secret';
    this.#org = new Org(options.questions ?? {}, this.#now);
    this.usage = new ApiUsage(options.dailyRequests, this.#now);
    this.#sessions = new Sessions(this.#org, {
      clientId: this.clientId,
      clientSecret: this.clientSecret,
      lifetimeMs: (options.sessionSeconds ?? SESSION_SECONDS) * 1_000,
      now: this.#now,
    });
    this.#api = new RestApi(this.#org, this.#sessions, this.usage);
    prepareKeyField(this.#org, options.keyField ?? 'ready');
  }

  async listen(port: number): Promise<void> {
    this.#server.listen(port, '127.0.0.1');
    await once(this.#server, 'listening');
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get userId(): string {
    return this.#org.userId;
  }

  get organizationId(): string {
    return this.#org.organizationId;
  }

  get settings(): OrgSettings {
    return this.#org.settings;
  }

  get records(): Readonly<Record<string, readonly StoredRecord[]>> {
    const tables = [...this.#org.tables, this.#org.customFields];
    const live = ({ IsDeleted }: StoredRecord) => !IsDeleted;
    return Object.fromEntries(tables.map((table) => [table.definition.name, table.all().filter(live)]));
  }

  add(object: string, fields: Readonly<Record<string, FieldValue>>): string {
    return this.#org.table(object).insert(fields).Id;
  }

  change(id: string, fields: Readonly<Record<string, FieldValue>>): void {
    const table = this.#org.tables.find(({ definition }) => id.startsWith(definition.keyPrefix));
    const record = table?.get(id);
    if (table === undefined || record === undefined) throw new Error(`the stub has no record ${id}`);
    table.update(record, fields);
  }

  remove(id: string): void {
    this.change(id, { IsDeleted: true });
  }

  changeField(object: string, name: string, changes: Partial<Field>): void {
    const table = this.#org.table(object);
    const known = table.field(name);
    table.putField({ ...(known ?? field(name, name, 'string')), ...changes });
    if (known === undefined) this.showField(object, name, 'edit');
  }

  removeField(object: string, name: string): void {
    this.#org.removeField(object, name);
  }

  showField(object: string, name: string, access: 'edit' | 'read' | 'hidden'): void {
    showField(this.#org, `${object}.${name}`, access);
  }

  revokeSessions(): void {
    this.#sessions.revoke();
  }

  misbehave({ times, token, upsert, data, ...how }: SalesforceMisbehaveRequest): void {
    for (const [endpoint, name] of Object.entries({ token, upsert, data }))
      if (name !== undefined) this.#misbehaviours[endpoint as Endpoint].add({ name, ...how }, times);
  }

  behave(): void {
    for (const endpoint of ['token', 'upsert', 'data'] as const) {
      this.#misbehaviours[endpoint].clear();
      this.#next[endpoint].length = 0;
    }
  }

  answerNext(endpoint: Endpoint, ...answers: readonly (ReplacedAnswer | NoAnswer)[]): void {
    this.#next[endpoint].push(...answers);
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async #serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const url = new URL(req.url ?? '/', this.url);
    if (url.pathname === '/stub/records') return sendAnswer(res, { status: 200, body: this.records });
    const chunks: Buffer[] = [];
    for await (const chunk of req as AsyncIterable<Buffer>) chunks.push(chunk);
    const request: SalesforceRequest = {
      method: req.method ?? '',
      path: req.url ?? '',
      headers: req.headers,
      body: Buffer.concat(chunks).toString(),
      at: this.#now(),
      status: undefined,
    };
    this.requests.push(request);
    const endpoint = endpointOf(request.method, url.pathname);
    const misbehaviour = this.#misbehaviours[endpoint].next();
    if (misbehaviour !== undefined) await delayOf(misbehaviour);
    const answer = this.#answer(request, url, endpoint, misbehaviour?.name);
    if (typeof answer !== 'string') request.status = answer.status;
    sendAnswer(res, answer);
  }

  #answer(
    request: SalesforceRequest,
    url: URL,
    endpoint: Endpoint,
    fault: FaultName | undefined,
  ): Answer | NoAnswer {
    const carryOut = () => this.#carryOut(request, url);
    const replaced = this.#next[endpoint].shift();
    if (replaced !== undefined) {
      if (typeof replaced !== 'string' && replaced.stores) carryOut();
      return replaced;
    }
    return fault === undefined ? carryOut() : faults[fault](carryOut);
  }

  #carryOut(request: SalesforceRequest, url: URL): Answer {
    const { method, headers, body } = request;
    const path = url.pathname;
    if (path === '/services/oauth2/token') return this.#sessions.answerToken(method, headers, body, this.url);
    if (path.startsWith('/services/Soap/')) return answerSoap(this.#org, this.#sessions, body);
    if (/^\/services\/data\/?$/.test(path)) return this.#api.answerVersions();
    if (path === '/services/oauth2/userinfo' || path === `/id/${this.organizationId}/${this.userId}`)
      return this.#sessions.refuse(headers) ?? this.#sessions.answerIdentity(this.url);
    const [, version, rest = ''] = /^\/services\/data\/v(\d+)\.0\/?(.*)$/.exec(path) ?? [];
    if (version === undefined) return notFound();
    return this.#api.answer({
      method,
      version: Number(version),
      path: rest === '' ? [] : rest.replace(/\/$/, '').split('/').map(decodeURIComponent),
      query: url.searchParams,
      headers,
      body,
    });
  }
}

function endpointOf(method: string, path: string): Endpoint {
  if (path.startsWith('/services/oauth2/token')) return 'token';
  return method === 'PATCH' && path.includes('/composite/sobjects/') ? 'upsert' : 'data';
}

async function delayOf({ until, delayMs }: Misbehaviour<FaultName>): Promise<void> {
  if (until !== undefined) await until;
  else if (delayMs !== undefined) await sleep(delayMs);
}
