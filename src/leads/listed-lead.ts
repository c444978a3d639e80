import type { ContentFacts } from './content-facts.ts';
import type { LeadId } from './lead.ts';

/** One element of a listing that keeps the service's description. */
export interface ListedLead {
  readonly kind: 'lead';
  /** 0-based place in the listing. */
  readonly position: number;
  readonly id: LeadId;
  /** The JSON text of the element exactly as received; it is the truth about the lead. */
  readonly raw: string;
  /** SHA-256 over the raw bytes, the first 128 bits in hex. Equal hashes mean equal content. */
  readonly hash: string;
  /** Of `raw`. */
  readonly facts: ContentFacts;
}

/** One element of a listing that breaks the service's description: set aside with the reason. */
export interface RejectedLead {
  readonly kind: 'rejected';
  readonly position: number;
  /** The id, when one could be read; lets a later listing show that the lead came right. */
  readonly id: LeadId | undefined;
  readonly raw: string;
  readonly hash: string;
  /** What is wrong, in words, without any of the lead's own text. */
  readonly reason: string;
  /** Where in the lead: `client_address.friendly_address`, or empty for the lead as a whole. */
  readonly path: string;
}

/** An element of a listing that was looked into. */
export type ListedItem = ListedLead | RejectedLead;

/** One element as it was cut out of a listing: it is looked into only where its content is not known already. */
export interface ListedElement {
  /** 0-based place in the listing. */
  readonly position: number;
  /** The id that it bears at its beginning; undefined: only looking into it tells. */
  readonly id: LeadId | undefined;
  /** As that of the lead. */
  readonly hash: string;
  /** @throws SourceError `protocol` when it is not JSON in UTF-8, and where it ends cannot be told: what follows cannot be read */
  read(): ListedItem;
}

/** A run of elements of a listing. The next listing is likely to have most of its blocks in common with this one. */
export interface ListedBlock {
  /**
   * SHA-256 over the bytes from the end of the block before to the end of its last element, the first 128 bits in hex; undefined
   * where that cannot be told.
   */
  readonly hash: string | undefined;
  /** How many elements it has; at least one. */
  readonly size: number;
  /** Cut out when they are asked for. */
  elements(): readonly ListedElement[];
}
