/** What is remembered of the last listing that was recorded to its end, to recognise the same one again. The ledger reads nothing into it. */
export interface ListingMark {
  /** The address it came from; a mark of another address is not used. */
  readonly url: string;
  /** Verbatim, weak ones too (RFC 9110, section 8.8.3). */
  readonly etag: string | undefined;
  /** When that listing was read, in ms since 1970: a service or cache that says "unchanged" ever since is not believed for ever. */
  readonly readAt?: number | undefined;
}
