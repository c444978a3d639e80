import type { ListedBlock } from '../../leads/listed-lead.ts';
import type { ListingMark } from '../../leads/listing-mark.ts';

/** The service shows what it showed last time; nothing has to be read. */
export interface UnchangedListing {
  readonly kind: 'unchanged';
  readonly httpStatus: number;
  /** Decoded bytes that were transferred to find out. */
  readonly bytes: number;
  /** Takes the place of the last mark; undefined: that one is as good as ever. */
  readonly mark?: ListingMark | undefined;
}

/** The service shows something else than last time, or cannot say. */
export interface ChangedListing {
  readonly kind: 'changed';
  readonly httpStatus: number;
  /**
   * The listing's elements in order, in blocks, read as they arrive in bounded memory. Ends without an error
   * only when the listing was complete. Leaving it early closes the connection. @throws SourceError
   */
  readonly blocks: AsyncIterable<ListedBlock>;
  /** Valid after `blocks` has ended. `mark` is absent where a listing cannot be recognised again (several pages). */
  end(): { readonly bytes: number; readonly mark: ListingMark | undefined };
}

/** What a service answers when it is asked for its leads. */
export type Listing = UnchangedListing | ChangedListing;

/** One account at a lead listing service. */
export interface Source {
  readonly name: string;
  /** Where its leads are listed, without scheme and query: `leads.example.com/api/v1/leads`. */
  readonly origin: string;
  /** Asks for every lead that the source shows now. @throws SourceError; `incomplete` when the signal aborts */
  list(previous: ListingMark | undefined, signal: AbortSignal): Promise<Listing>;
  /** When the token in hand ends, by the local clock; undefined without one or when the service did not say. */
  tokenExpiresAt(): Date | undefined;
  /**
   * When the stored token of a login was received, in whatever process; undefined without one that can be used. What failed for want of
   * a login may work once this has changed. Never rejects.
   */
  lastLoginAt(): Promise<Date | undefined>;
  /** Ends what is under way; a token that is being renewed gets `graceMs` to arrive and be stored. */
  close(graceMs?: number): Promise<void>;
}

/** What failed, for code to branch on. */
export type SourceErrorCode =
  | 'unreachable' // no connection, reset, timeout
  | 'credentials' // the token endpoint does not accept the client id, secret or grant
  | 'login-needed' // only a person can go on: nobody has logged in, or the login has ended or does not fit
  | 'login-refused' // the service refused once to renew a login; it is asked once more
  | 'unauthorized' // the listing refuses a fresh token
  | 'forbidden' // 403: the token lacks a scope or the account a right
  | 'rate-limited' // 429
  | 'server' // 5xx
  | 'protocol' // the answer is not what the description says: HTML, wrong status, not an array
  | 'incomplete' // the listing broke off before its end
  | 'other-origin' // the ledger's leads of this source come from elsewhere
  | 'token-file'; // the disk refuses to read or keep the token

/** The service, or the way to it, failed. The message is one plain sentence without secrets or leads' text. */
export class SourceError extends Error {
  override readonly name = 'SourceError';
  readonly code: SourceErrorCode;
  /** What the operator can do next. */
  readonly hint: string;
  readonly httpStatus: number | undefined;
  /** What the service asked for (Retry-After), in ms from now; already read, not yet limited. */
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
