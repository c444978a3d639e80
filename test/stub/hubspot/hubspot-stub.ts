import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Account, type AccountOptions, everyScope } from './account.ts';
import { answerApi, isSearch } from './answer-api.ts';
import { type AnsweredInput, type AnswerName, answers } from './answers.ts';
import { ApiError, invalid } from './api-error.ts';
import { type MadeAnswer, type Misbehaviour, Misbehaviours } from './misbehaviours.ts';
import { type ObjectName, objectNames } from './object-types.ts';
import type { NewProperty } from './properties.ts';
import type { StoredRecord } from './records.ts';
import { normalised, Writes } from './writes.ts';

/** What a stub starts with. */
export interface HubSpotStubOptions extends AccountOptions {
  /** A free port if absent. */
  readonly port?: number;
}

/** A request that the stub got. */
export interface HubSpotRequest {
  readonly method: string;
  /** The path with its query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** The body as parsed; the text if it is no JSON, undefined if there is none. */
  readonly body: unknown;
  /** The status of the answer; undefined until then, and if it never comes. */
  status: number | undefined;
}

/** A running substitute for HubSpot's API, and its controls. */
export interface HubSpotStub {
  /** `http://127.0.0.1:…` in place of `https://api.hubapi.com`. */
  readonly url: string;
  /** The token that the stub accepts until `revokeToken`. */
  readonly token: string;
  readonly portalId: number;
  /** The records of each object, oldest first. */
  readonly records: Readonly<Record<ObjectName, readonly StoredRecord[]>>;
  /** The last 1,000 requests, oldest first. */
  readonly requests: readonly HubSpotRequest[];
  readonly requestCount: number;
  /** Returns the ids of an object's records that are linked with a record. */
  associated(from: ObjectName, fromId: string, to: ObjectName): readonly string[];
  /** Stores a record without the API and its checks; its unique values must be free. @returns its id */
  addRecord(object: ObjectName, properties: Readonly<Record<string, string>>): string;
  /** Changes a record as a person at HubSpot would, by the rules of the API. */
  editRecord(object: ObjectName, id: string, properties: Readonly<Record<string, string>>): void;
  /** Deletes a record as a person at HubSpot would. */
  deleteRecord(object: ObjectName, id: string): void;
  /** Links two records as a person at HubSpot would. */
  linkRecords(from: ObjectName, fromId: string, to: ObjectName, toId: string): void;
  /** Removes the link of two records as a person at HubSpot would. */
  unlinkRecords(from: ObjectName, fromId: string, to: ObjectName, toId: string): void;
  /** Merges a contact into another, whose id it answers as from then on. */
  mergeContacts(primaryId: string, otherId: string): void;
  addProperty(object: ObjectName, property: NewProperty): void;
  deleteProperty(object: ObjectName, name: string): void;
  /** Sets an administrator's validation rule, or removes it if `allows` is absent. */
  setRule(object: ObjectName, property: string, allows?: (value: string) => boolean): void;
  /** Refuses the token from now on, or accepts another. */
  revokeToken(newToken?: string): void;
  /** Sets the token's scopes; all by default. */
  setScopes(scopes?: readonly string[]): void;
  /** Takes an object out of the account's plan. */
  withdrawObject(object: ObjectName): void;
  /** Uses up the day's requests, until midnight in the account's time zone. */
  useUpDay(): void;
  misbehave(misbehaviour: Misbehaviour): void;
  /** Answers the next requests so, in this order. */
  answerNext(...next: readonly (AnswerName | MadeAnswer)[]): void;
  /** Forgets every misbehaviour that is still to come. */
  behave(): void;
  close(): Promise<void>;
}

const REQUESTS_KEPT = 1_000;

/** Starts a HubSpot account with nothing but its standard properties on 127.0.0.1. */
export async function startHubSpotStub(options: HubSpotStubOptions = {}): Promise<HubSpotStub> {
  const stub = new RunningStub(options);
  await stub.listen(options.port ?? 0);
  return stub;
}

class RunningStub implements HubSpotStub {
  url = '';
  readonly token: string;
  readonly portalId: number;
  readonly requests: HubSpotRequest[] = [];
  requestCount = 0;
  readonly #account: Account;
  readonly #misbehaviours = new Misbehaviours();
  readonly #server = createServer((req, res) => void this.#serve(req, res).catch(() => res.destroy()));

  constructor(options: HubSpotStubOptions) {
    this.#account = new Account(options);
    this.token = this.#account.token ?? '';
    this.portalId = this.#account.portalId;
  }

  async listen(port: number): Promise<void> {
    this.#server.listen(port, '127.0.0.1');
    await once(this.#server, 'listening');
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get records(): Readonly<Record<ObjectName, readonly StoredRecord[]>> {
    return Object.fromEntries(
      objectNames.map((name) => [name, this.#account.records[name].all]),
    ) as unknown as Record<ObjectName, readonly StoredRecord[]>;
  }

  associated(from: ObjectName, fromId: string, to: ObjectName): readonly string[] {
    return this.#account.associations.of(from, fromId, to);
  }

  addRecord(object: ObjectName, properties: Readonly<Record<string, string>>): string {
    const stored = Object.entries(properties).map(
      ([name, value]) => [name, normalised(name, value)] as const,
    );
    return this.#account.store(object, this.#account.newId(object), Object.fromEntries(stored)).id;
  }

  editRecord(object: ObjectName, id: string, properties: Readonly<Record<string, string>>): void {
    const record = this.#account.records[object].byId(id);
    if (!record) throw new Error(`There is no record ${id} in ${object}.`);
    const writes = new Writes(this.#account, object);
    writes.store(writes.update(record, properties));
  }

  deleteRecord(object: ObjectName, id: string): void {
    this.#account.delete(object, id);
  }

  linkRecords(from: ObjectName, fromId: string, to: ObjectName, toId: string): void {
    this.#account.associations.link(from, fromId, to, toId);
  }

  unlinkRecords(from: ObjectName, fromId: string, to: ObjectName, toId: string): void {
    this.#account.associations.unlink(from, fromId, to, toId);
  }

  mergeContacts(primaryId: string, otherId: string): void {
    this.#account.merge(primaryId, otherId);
  }

  addProperty(object: ObjectName, property: NewProperty): void {
    this.#account.properties[object].create(property);
  }

  deleteProperty(object: ObjectName, name: string): void {
    this.#account.properties[object].delete(name);
  }

  setRule(object: ObjectName, property: string, allows?: (value: string) => boolean): void {
    if (allows) this.#account.rules.set(`${object}.${property}`, allows);
    else this.#account.rules.delete(`${object}.${property}`);
  }

  revokeToken(newToken?: string): void {
    this.#account.token = newToken;
  }

  setScopes(scopes: readonly string[] = everyScope): void {
    this.#account.scopes = new Set(scopes);
  }

  withdrawObject(object: ObjectName): void {
    this.#account.objects.delete(object);
  }

  useUpDay(): void {
    this.#account.limits.useUpDay();
  }

  misbehave(misbehaviour: Misbehaviour): void {
    this.#misbehaviours.add(misbehaviour);
  }

  answerNext(...next: readonly (AnswerName | MadeAnswer)[]): void {
    for (const answer of next) this.#misbehaviours.add({ answer });
  }

  behave(): void {
    this.#misbehaviours.clear();
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async #serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of req as AsyncIterable<Buffer>) chunks.push(chunk);
    const url = new URL(req.url ?? '/', this.url);
    if (url.pathname === '/stub/records') return send(res, { status: 200, body: this.records });
    if (url.pathname === '/stub/counts') return send(res, { status: 200, body: this.#account.limits.counts });
    const request = this.#note(req, res, Buffer.concat(chunks).toString());
    const misbehaviour = this.#misbehaviours.next(`${request.method} ${request.path}`);
    if (!misbehaviour) return send(res, this.#answer(request, url));
    const { answer, stores = false, retryAfter } = misbehaviour;
    const right = stores || answer === 'truncated' ? this.#answer(request, url) : undefined;
    if (answer === 'silent') return;
    if (answer === 'cut') return void res.destroy();
    if (answer === 'truncated') return cutInBody(res, right);
    // Of stored records, the answer has the ids that they have: an invented one would be that of another record.
    if (answer === 'fewer-results' && right) return send(res, withoutFirstResult(right));
    const made = typeof answer === 'string' ? answers[answer] : answer;
    const body = typeof made.body === 'function' ? made.body(inputsOf(request.body)) : made.body;
    const retry = retryAfter === undefined ? {} : { 'retry-after': retryAfter };
    send(res, { status: made.status, headers: { ...made.headers, ...retry }, body });
  }

  #answer(request: HubSpotRequest, url: URL): Answer {
    const correlationId = randomUUID();
    const isSearching = isSearch(url.pathname);
    const exceeded = this.#account.limits.take(isSearching);
    const headers = {
      'x-hubspot-correlation-id': correlationId,
      ...this.#account.limits.headers(isSearching),
    };
    try {
      if (exceeded) throw exceeded;
      if (typeof request.body === 'string') throw unreadable(request);
      const { method, headers: sent, body } = request;
      return { ...answerApi(this.#account, method, url, sent.authorization, body), headers };
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      return { status: error.status, headers, body: error.body(correlationId) };
    }
  }

  #note(req: IncomingMessage, res: ServerResponse, text: string): HubSpotRequest {
    const noted: HubSpotRequest = {
      method: req.method ?? '',
      path: req.url ?? '',
      headers: req.headers,
      body: parse(text, req.headers['content-type']),
      status: undefined,
    };
    this.requests.push(noted);
    this.requestCount += 1;
    if (this.requests.length > REQUESTS_KEPT) this.requests.shift();
    res.once('finish', () => {
      noted.status = res.statusCode;
    });
    return noted;
  }
}

interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | object | undefined;
}

function send(res: ServerResponse, { status, headers, body }: Answer): void {
  res.writeHead(status, { 'content-type': 'application/json;charset=utf-8', ...headers });
  res.end(typeof body === 'object' ? JSON.stringify(body) : body);
}

function withoutFirstResult(right: Answer): Answer {
  const body = right.body as { readonly results?: readonly unknown[] };
  return { ...right, body: { ...body, results: (body.results ?? []).slice(1) } };
}

function cutInBody(res: ServerResponse, right: Answer | undefined): void {
  const text = JSON.stringify(right?.body ?? {});
  res.writeHead(right?.status ?? 200, { ...right?.headers, 'content-length': text.length });
  res.write(text.slice(0, text.length / 2), () => res.destroy());
}

function parse(text: string, contentType: string | undefined): unknown {
  if (text === '') return undefined;
  if (!contentType?.startsWith('application/json')) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function unreadable({ headers }: HubSpotRequest): ApiError {
  return headers['content-type']?.startsWith('application/json')
    ? invalid('Invalid input JSON on line 1, column 1: Unexpected character')
    : new ApiError(415, 'VALIDATION_ERROR', 'Unsupported Media Type');
}

function inputsOf(body: unknown): readonly AnsweredInput[] {
  return (body as { inputs?: readonly AnsweredInput[] } | undefined)?.inputs ?? [];
}
