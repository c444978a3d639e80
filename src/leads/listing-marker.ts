/** The listing marker, by which a poll recognises the last complete listing. The ledger does not interpret the marker. */
export interface ListingMarker {
  /** The address of the listing. A marker for another address is not used. */
  readonly url: string;
  /** The ETag as received, strong or weak (RFC 9110, section 8.8.3). */
  readonly etag: string | undefined;
  /** When the listing was read, in ms since 1970. A service or cache that answers "unchanged" is trusted only for a limited time. */
  readonly readAt?: number | undefined;
  /** The `max_lead_size` in force, in bytes. A lead that this limit rejected is readable under a higher one, although nothing has changed. */
  readonly maxLeadSize?: number | undefined;
}
