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
  /** Leads shown from the start; none by default. */
  readonly leads?: number;
  readonly firstId?: number;
  /** Decides what generated leads say. */
  readonly seed?: number;
  /** New leads that keep arriving, per second; none by default. */
  readonly leadsPerSecond?: number;
  /** A free port when absent. */
  readonly port?: number;
  readonly clientId?: string;
  readonly clientSecret?: string;
  readonly tokenLifetimeSeconds?: number;
  readonly refreshRotation?: RefreshRotation;
  /** The scopes that exist (`leads`); all are given where none is asked for. */
  readonly scopes?: readonly string[];
  /** A token without this scope may not read the listing. */
  readonly requiredScope?: string;
  /** Shows leads to tokens of a person's login alone: to a token of the client itself, the listing is empty. */
  readonly personal?: boolean;
  /** Speaks as a Rails service with Doorkeeper does: weak ETags, its errors, no refresh token for client_credentials. */
  readonly doorkeeper?: boolean;
  /** `weak` with doorkeeper, else `none`. */
  readonly etag?: 'none' | 'strong' | 'weak';
  readonly gzip?: boolean;
  readonly transfer?: 'chunked' | 'length';
  readonly paging?: Paging;
  /** The service's own clock. */
  readonly now?: () => Date;
}

/** What to do wrong, at one endpoint or both. */
export interface MisbehaveRequest {
  readonly listing?: ListingMisbehaviourName;
  readonly token?: TokenFaultName;
  /** For so many requests; until `behave()` when absent. Several requests to misbehave follow one another. */
  readonly times?: number;
  readonly retryAfter?: string;
  readonly delayMs?: number;
  /** In place of `delayMs`, for tests in the same process: what slow answers wait for. */
  readonly until?: Promise<unknown>;
}

/** A request as it came in, and what it was answered with. */
export interface StubRequest {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly at: Date;
  /** Undefined until it is answered, and when it never is. */
  status: number | undefined;
}

/** A running lead listing service, and the strings to pull on it. */
export interface Stub {
  /** `http://127.0.0.1:…`, to be configured as `base_url`. */
  readonly url: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly seed: number;
  /** What the listings that were sent in full have contained. */
  readonly served: Served;
  readonly tokenRequests: number;
  readonly listingRequests: number;
  /** The grant that each request for a token has named, oldest first. */
  readonly grants: readonly string[];
  /** The last 1,000 requests, oldest first; control requests are not among them. */
  readonly requests: readonly StubRequest[];
  readonly shown: number;
  /** Shows more leads, from `from` on when given (older ids between newer ones). @returns their ids */
  addLeads(count: number, options?: { from?: number }): number[];
  /** Shows any text as an element of the listing, until `removeRaw`. */
  addRaw(text: string): void;
  removeRaw(text: string): void;
  /** Changes a lead's content. @returns its new version, counted from 1 */
  changeLead(id: number): number;
  /** Shows what a lead said before its last change. @returns the version that it has again */
  changeLeadBack(id: number): number;
  removeLead(id: number): void;
  /** Leads per second that arrive from now on; 0 stops them. */
  arrive(perSecond: number): void;
  misbehave(request: MisbehaveRequest): void;
  behave(): void;
  /** Ends tokens that are out: all of them, or only those that refresh. */
  revoke(which: 'all' | 'refresh'): void;
  close(): Promise<void>;
}

/** Starts the described service on 127.0.0.1. It answers as the description says until it is told to misbehave. */
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
