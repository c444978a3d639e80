import { Agent } from 'undici';
import type { ListingMarker } from '../leads/listing-marker.ts';
import type { DocumentStore } from '../platform/files/document-store.ts';
import type { Secret } from '../platform/options/secret.ts';
import type { Clock, Random } from '../platform/time/clock.ts';
import type { Emit } from '../telemetry/events.ts';
import { type Login, startLogin } from './auth/authorization-code-login.ts';
import { TokenEndpoint } from './auth/token-endpoint.ts';
import { TokenProvider } from './auth/token-provider.ts';
import { TokenStore } from './auth/token-store.ts';
import type { SourceOptions } from './contract/options.ts';
import type { Listing, Source } from './contract/source.ts';
import { type ListingParts, readListing } from './listing/listing.ts';

/** Dependencies of every source. */
export interface SourceParts {
  readonly clock: Clock;
  readonly random: Random;
  /** Where tokens are stored. */
  readonly tokens: DocumentStore;
  /** The key that encrypts stored tokens. If undefined, tokens are stored as plain text. */
  readonly tokenKey: Secret | undefined;
  readonly emit: Emit;
  /**
   * For `leadsync check`: tries the client's credentials even if a token for them is stored, and emits `token-fallback` for a stored token that does
   * not match the configuration. Replaces neither of these tokens, but restores a token that was set aside and matches the configuration again.
   * Renews and stores the token of a login as usual.
   */
  readonly trial?: boolean;
}

/** Default time that `close` waits for a token renewal in progress, in ms. */
const RENEWAL_GRACE_MS = 5_000;

/** A source that leadsync reads over HTTP and that a person can log in to. */
export interface HttpSource extends Source {
  /** Starts the authorization code grant. Its tokens replace those that are stored. @throws SourceError */
  startLogin(): Promise<Login>;
}

/** Returns a source without opening a connection. */
export function openSource(name: string, options: SourceOptions, parts: SourceParts): HttpSource {
  return new OpenSource(name, options, parts);
}

class OpenSource implements HttpSource {
  readonly name: string;
  readonly origin: string;
  readonly #options: SourceOptions;
  readonly #parts: SourceParts;
  readonly #closing = new AbortController();
  readonly #agent: Agent;
  readonly #endpoint: TokenEndpoint;
  readonly #tokens: TokenProvider;
  readonly #last: ListingParts['last'] = { blocks: new Map() };

  constructor(name: string, options: SourceOptions, parts: SourceParts) {
    this.name = name;
    this.origin = originOf(options);
    this.#options = options;
    this.#parts = parts;
    const { timeout } = options;
    this.#agent = new Agent({ headersTimeout: timeout, bodyTimeout: timeout, connect: { timeout } });
    const { clock, random, emit, tokens: documents, tokenKey: key, trial = false } = parts;
    const closing = this.#closing.signal;
    this.#endpoint = new TokenEndpoint(options, { source: name, dispatcher: this.#agent, clock, closing });
    const { base_url: baseUrl, client_id: clientId, scope, grant } = options;
    const account = { baseUrl, clientId, scope, grant };
    const store = new TokenStore({ name, account, documents, key });
    // Another process sends at most two requests: a refresh, then client credentials.
    const patienceMs = 2 * timeout + 5_000;
    const endpoint = this.#endpoint;
    this.#tokens = new TokenProvider({
      source: name,
      endpoint,
      store,
      patienceMs,
      clock,
      random,
      emit,
      trial,
    });
  }

  list(previous: ListingMarker | undefined, signal: AbortSignal): Promise<Listing> {
    const { clock } = this.#parts;
    const connection = { dispatcher: this.#agent, now: () => clock.now() };
    const parts = { options: this.#options, connection, tokens: this.#tokens, clock, last: this.#last };
    return readListing(parts, previous, AbortSignal.any([signal, this.#closing.signal]));
  }

  tokenExpiresAt(): Date | undefined {
    return this.#tokens.expiresAt;
  }

  lastLoginAt(): Promise<Date | undefined> {
    return this.#tokens.lastLoginAt();
  }

  async startLogin(): Promise<Login> {
    await this.#tokens.probe();
    return await startLogin(this.#endpoint, this.#options.redirect_uri, (token) => this.#tokens.keep(token));
  }

  async close(graceMs = RENEWAL_GRACE_MS): Promise<void> {
    const ended = new AbortController();
    const ending = this.#tokens.end().then(() => ended.abort());
    await this.#parts.clock.sleep(graceMs, ended.signal);
    this.#closing.abort();
    await ending; // an answer that arrived in time is still being written
    await this.#agent.destroy(); // `close` would wait for bodies that are never read
  }
}

/** Returns the address of a source's listing without scheme and query: `leads.example.com/api/v1/leads`. */
export function originOf({ base_url, leads_path }: SourceOptions): string {
  const { host, pathname } = new URL(base_url + leads_path);
  return host + pathname;
}
