import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Authorization } from './authorization.ts';
import { answerControlRequest } from './control.ts';
import {
  answerListingRequest,
  type ListingEndpointOptions,
  type ListingMisbehaviourName,
} from './listing-endpoint.ts';
import { doorkeeperManner, plainManner, sendJson } from './manner.ts';
import { Misbehaviours } from './misbehaviour.ts';
import type { Paging } from './paging.ts';
import { Served } from './served.ts';
import { ShownLeads } from './shown-leads.ts';
import { answerTokenRequest, type TokenEndpointOptions } from './token-endpoint.ts';
import type { TokenFaultName } from './token-faults.ts';
import { type RefreshRotation, Tokens } from './tokens.ts';

export type { ListingMisbehaviourName } from './listing-endpoint.ts';
export type { TokenFaultName } from './token-faults.ts';

export interface StubOptions {
  /** Number of leads shown from the start; 0 by default. */
  readonly leads?: number;
  readonly firstId?: number;
  /** Determines the content of generated leads. */
  readonly seed?: number;
  /** Arrival rate of new leads, per second; 0 by default. */
  readonly leadsPerSecond?: number;
  /** A free port if absent. */
  readonly port?: number;
  readonly clientId?: string;
  readonly clientSecret?: string;
  readonly tokenLifetimeSeconds?: number;
  readonly refreshRotation?: RefreshRotation;
  /** The scopes that exist (`leads`); a request that names none gets all. */
  readonly scopes?: readonly string[];
  /** A token without this scope may not read the listing. */
  readonly requiredScope?: string;
  /** Whether only tokens from a person's login see leads: a token of the client itself gets an empty listing. */
  readonly personal?: boolean;
  /** Whether the stub behaves as a Rails service with Doorkeeper: weak ETags, its errors, no refresh token for client_credentials. */
  readonly doorkeeper?: boolean;
  /** `weak` with `doorkeeper`, else `none` by default. */
  readonly etag?: 'none' | 'strong' | 'weak';
  readonly gzip?: boolean;
  readonly transfer?: 'chunked' | 'length';
  readonly paging?: Paging;
  /** The service's own clock. */
  readonly now?: () => Date;
}

/** A request to misbehave, at one endpoint or both. */
export interface MisbehaveRequest {
  readonly listing?: ListingMisbehaviourName;
  readonly token?: TokenFaultName;
  /** Number of requests that get it; until `behave()` if absent. Several misbehaviours follow one another. */
  readonly times?: number;
  readonly retryAfter?: string;
  readonly delayMs?: number;
  /** Replaces `delayMs` for tests in the same process: slow answers wait for this promise. */
  readonly until?: Promise<unknown>;
}

/** A received request and its answer. */
export interface StubRequest {
  readonly method: string;
  /** The path with its query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly at: Date;
  /** Undefined until the stub answers, and if it never does. */
  status: number | undefined;
}

/** A running lead listing service, and its controls. */
export interface Stub {
  /** `http://127.0.0.1:…`, for `base_url`. */
  readonly url: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly seed: number;
  /** The content of the listings that were sent completely. */
  readonly served: Served;
  readonly tokenRequests: number;
  readonly listingRequests: number;
  /** The grant that each token request named, oldest first. */
  readonly grants: readonly string[];
  /** The last 1,000 requests, oldest first, without control requests. */
  readonly requests: readonly StubRequest[];
  readonly shown: number;
  /** Shows more leads, with ids from `from` on if given (older ids between newer ones). @returns their ids */
  addLeads(count: number, options?: { from?: number }): number[];
  /** Shows any text as an element of the listing until `removeRaw`. */
  addRaw(text: string): void;
  removeRaw(text: string): void;
  /** Changes a lead's content. @returns its new version, counted from 1 */
  changeLead(id: number): number;
  /** Shows a lead's content from before its last change. @returns the version that is shown again */
  changeLeadBack(id: number): number;
  removeLead(id: number): void;
  /** Sets the arrival rate of leads, per second; 0 stops them. */
  arrive(perSecond: number): void;
  misbehave(request: MisbehaveRequest): void;
  behave(): void;
  /** Revokes issued tokens: all of them, or only refresh tokens. */
  revoke(which: 'all' | 'refresh'): void;
  close(): Promise<void>;
}

/** Starts the described service on 127.0.0.1. It follows the description until a test makes it misbehave. */
export async function startStub(options: StubOptions = {}): Promise<Stub> {
  const stub = new RunningStub(options);
  await stub.listen(options.port ?? 0);
  return stub;
}

const REQUESTS_KEPT = 1_000;
const ARRIVAL_INTERVAL_MS = 50;

class RunningStub implements Stub {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly seed: number;
  readonly served: Served;
  url = '';
  tokenRequests = 0;
  listingRequests = 0;
  readonly grants: string[] = [];
  readonly requests: StubRequest[] = [];
  readonly #now: () => Date;
  readonly #shown: ShownLeads;
  readonly #tokens: Tokens;
  readonly #authorization: Authorization;
  readonly #tokenEndpoint: TokenEndpointOptions;
  readonly #listingEndpoint: ListingEndpointOptions;
  readonly #listingMisbehaviours = new Misbehaviours<ListingMisbehaviourName>();
  readonly #tokenMisbehaviours = new Misbehaviours<TokenFaultName>();
  readonly #server = createServer((req, res) => void this.#answer(req, res));
  #arrivals: NodeJS.Timeout | undefined;

  constructor(options: StubOptions) {
    this.clientId = options.clientId ?? 'demo-client';
    this.clientSecret = options.clientSecret ?? 'demo-secret';
    this.seed = options.seed ?? 1;
    this.#now = options.now ?? (() => new Date());
    this.#shown = new ShownLeads(this.seed, options.firstId ?? 1, this.#now);
    this.served = new Served(this.#shown);
    const manner = options.doorkeeper ? doorkeeperManner : plainManner;
    const lifetimeSeconds = options.tokenLifetimeSeconds ?? 7_200;
    this.#tokens = new Tokens({
      issuer: 'lead-listing-service',
      clientId: this.clientId,
      lifetimeSeconds,
      rotation: options.refreshRotation ?? 'on-first-use',
      now: this.#now,
    });
    this.#authorization = new Authorization(this.clientId, this.#now);
    this.#tokenEndpoint = {
      clientId: this.clientId,
      clientSecret: this.clientSecret,
      lifetimeSeconds,
      scopes: options.scopes ?? ['leads'],
      manner,
      tokens: this.#tokens,
      authorization: this.#authorization,
      onGrant: (grant) => this.grants.push(grant),
    };
    this.#listingEndpoint = {
      manner,
      tokens: this.#tokens,
      shown: this.#shown,
      served: this.served,
      requiredScope: options.requiredScope,
      personal: options.personal ?? false,
      etag: options.etag ?? (options.doorkeeper ? 'weak' : 'none'),
      gzip: options.gzip ?? false,
      transfer: options.transfer ?? 'chunked',
      paging: options.paging,
      now: this.#now,
    };
    this.#shown.add(options.leads ?? 0, { live: false });
    this.arrive(options.leadsPerSecond ?? 0);
  }

  async listen(port: number): Promise<void> {
    this.#server.listen(port, '127.0.0.1');
    await once(this.#server, 'listening');
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get shown(): number {
    return this.#shown.count;
  }

  addLeads(count: number, options: { from?: number } = {}): number[] {
    return this.#shown.add(count, options);
  }

  addRaw(text: string): void {
    this.#shown.addRaw(text);
  }

  removeRaw(text: string): void {
    this.#shown.removeRaw(text);
  }

  changeLead(id: number): number {
    return this.#shown.change(id);
  }

  changeLeadBack(id: number): number {
    return this.#shown.changeBack(id);
  }

  removeLead(id: number): void {
    this.#shown.remove(id);
  }

  arrive(perSecond: number): void {
    clearInterval(this.#arrivals);
    this.#arrivals = undefined;
    if (perSecond <= 0) return;
    let due = 0;
    let last = performance.now();
    this.#arrivals = setInterval(() => {
      const now = performance.now();
      due += ((now - last) / 1_000) * perSecond;
      last = now;
      const arrived = Math.floor(due);
      due -= arrived;
      if (arrived > 0) this.#shown.add(arrived);
    }, ARRIVAL_INTERVAL_MS);
    this.#arrivals.unref();
  }

  misbehave({ listing, token, times, ...how }: MisbehaveRequest): void {
    if (listing !== undefined) this.#listingMisbehaviours.add({ name: listing, ...how }, times);
    if (token !== undefined) this.#tokenMisbehaviours.add({ name: token, ...how }, times);
  }

  behave(): void {
    this.#listingMisbehaviours.clear();
    this.#tokenMisbehaviours.clear();
  }

  revoke(which: 'all' | 'refresh'): void {
    if (which === 'all') this.#tokens.revokeAll();
    else this.#tokens.revokeRefreshTokens();
  }

  async close(): Promise<void> {
    clearInterval(this.#arrivals);
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async #answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    res.setHeader('date', this.#now().toUTCString());
    try {
      const url = new URL(req.url ?? '/', this.url);
      if (url.pathname.startsWith('/__stub/')) return await answerControlRequest(req, res, url, this);
      this.#note(req, res);
      await this.#route(req, res, url);
    } catch (error) {
      if (res.headersSent) res.destroy();
      else
        sendJson(res, 500, { error: `the stub failed: ${error instanceof Error ? error.message : error}` });
    }
  }

  async #route(req: IncomingMessage, res: ServerResponse, url: URL): Promise<void> {
    if (url.pathname === '/oauth/token') {
      this.tokenRequests++;
      return answerTokenRequest(req, res, url, this.#tokenEndpoint, this.#tokenMisbehaviours.next());
    }
    if (url.pathname === '/api/v1/leads') {
      this.listingRequests++;
      return answerListingRequest(req, res, url, this.#listingEndpoint, this.#listingMisbehaviours.next());
    }
    if (url.pathname === '/oauth/authorize') return this.#authorization.answer(req, res, url);
    sendJson(res, 404, { error: 'there is nothing at this address' });
  }

  #note(req: IncomingMessage, res: ServerResponse): void {
    const noted: StubRequest = {
      method: req.method ?? '',
      path: req.url ?? '',
      headers: req.headers,
      at: this.#now(),
      status: undefined,
    };
    this.requests.push(noted);
    if (this.requests.length > REQUESTS_KEPT) this.requests.shift();
    res.once('finish', () => {
      noted.status = res.statusCode;
    });
  }
}
