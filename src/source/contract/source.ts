import type { ListedBlock } from '../../leads/listed-lead.ts';
import type { ListingMarker } from '../../leads/listing-marker.ts';

/** The listing is the same as last time; there is nothing to read. */
export interface UnchangedListing {
  readonly kind: 'unchanged';
  readonly httpStatus: number;
  /** Number of decoded bytes transferred. */
  readonly bytes: number;
  /** The marker that replaces the last one; undefined if the last marker is still valid. */
  readonly mark?: ListingMarker | undefined;
}

/** The listing has changed, or the service cannot tell whether it has. */
export interface ChangedListing {
  readonly kind: 'changed';
  readonly httpStatus: number;
  /**
   * The listing's elements in order, in blocks, read as they arrive, in bounded memory. Ends without an error only if the listing is
   * complete. A caller that stops early closes the connection. @throws SourceError
   */
  readonly blocks: AsyncIterable<ListedBlock>;
  /**
   * Returns the number of decoded bytes and the new listing marker. Must be called after `blocks` has ended. `mark` is undefined if the
   * source reads the listing in pages, because such a listing cannot be recognised again.
   */
  end(): { readonly bytes: number; readonly mark: ListingMarker | undefined };
}

/** The result of a request for the listing. */
export type Listing = UnchangedListing | ChangedListing;

/** One account at a lead listing service. */
export interface Source {
  readonly name: string;
  /** The address of its listing without scheme and query: `leads.example.com/api/v1/leads`. */
  readonly origin: string;
  /** Requests the current listing. @throws SourceError; `incomplete` if the signal aborts */
  list(previous: ListingMarker | undefined, signal: AbortSignal): Promise<Listing>;
  /** When the token in memory expires, by the local clock; undefined if there is no token, or if the service did not state its expiry. */
  tokenExpiresAt(): Date | undefined;
  /**
   * When the stored login token was received, by any process; undefined if there is no usable login token. A poll that failed for lack of a login may
   * succeed once this time has changed. Never rejects.
   */
  lastLoginAt(): Promise<Date | undefined>;
  /** Aborts reading. Waits up to `graceMs` for a token renewal in progress, so that the token is stored. */
  close(graceMs?: number): Promise<void>;
}

/** The kinds of failure that code branches on. */
export type SourceErrorCode =
  | 'unreachable' // no connection, reset, timeout
  | 'credentials' // the token endpoint refuses the client id, secret or grant
  | 'login-needed' // a person must log in: there is no login, or it has ended or does not match the configuration
  | 'login-refused' // the service refused once to renew a login; leadsync will ask again
  | 'unauthorized' // the listing refuses a fresh token
  | 'forbidden' // 403: the token lacks a scope, or the account a permission
  | 'rate-limited' // 429
  | 'server' // 5xx
  | 'protocol' // the answer contradicts the description: HTML, a wrong status, not an array
  | 'incomplete' // the listing broke off before its end
  | 'other-origin' // the ledger has leads of this source from another address
  | 'token-file'; // the token file cannot be read or written

/** A failure of the service or of the connection to it. The message is one plain sentence without secrets or text from leads. */
export class SourceError extends Error {
  override readonly name = 'SourceError';
  readonly code: SourceErrorCode;
  /** The next step for the operator. */
  readonly hint: string;
  readonly httpStatus: number | undefined;
  /** The wait that the service asked for (Retry-After), in ms from now, before leadsync limits it. */
  readonly retryAfterMs: number | undefined;

  constructor(
    code: SourceErrorCode,
    message: string,
    more: {
      hint: string;
      httpStatus?: number | undefined;
      retryAfterMs?: number | undefined;
      cause?: unknown;
    },
  ) {
    super(message, { cause: more.cause });
    this.code = code;
    this.hint = more.hint;
    this.httpStatus = more.httpStatus;
    this.retryAfterMs = more.retryAfterMs;
  }
}
