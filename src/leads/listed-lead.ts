import type { ContentFacts } from './content-facts.ts';
import type { LeadId } from './lead.ts';

/** An element of a listing that conforms to the service's API description. */
export interface ListedLead {
  readonly kind: 'lead';
  /** Index in the listing, from 0. */
  readonly position: number;
  readonly id: LeadId;
  /** The JSON text of the element exactly as received; it is the truth about the lead. */
  readonly raw: string;
  /** The first 128 bits of SHA-256 over the bytes of `raw`, in hex. Equal hashes mean equal content. */
  readonly hash: string;
  /** The facts about `raw`. */
  readonly facts: ContentFacts;
}

/** An element of a listing that does not match the service's API description, with the reason. */
export interface RejectedLead {
  readonly kind: 'rejected';
  readonly position: number;
  /** The id, if it is readable. A later listing in which a lead with this id is valid resolves the rejection. */
  readonly id: LeadId | undefined;
  readonly raw: string;
  readonly hash: string;
  /** What is wrong, without text from the lead. */
  readonly reason: string;
  /** The path of the faulty field, such as `client_address.friendly_address`; empty for the lead as a whole. */
  readonly path: string;
}

/** A parsed element of a listing. */
export type ListedItem = ListedLead | RejectedLead;

/** An unparsed element of a listing. It is parsed only if its content is not known yet. */
export interface ListedElement {
  /** Index in the listing, from 0. */
  readonly position: number;
  /** The id, if the element begins with it; undefined if only parsing reveals it. */
  readonly id: LeadId | undefined;
  /** The hash of the element, which is also the hash of the item that `read` returns. */
  readonly hash: string;
  /**
   * Parses the element.
   * @throws SourceError `protocol` if the element is not valid JSON or is too large, and its end is uncertain, which makes the rest of the
   * listing unreadable
   */
  read(): ListedItem;
}

/** What identifies a block to the ledger. */
export type BlockHead = Pick<ListedBlock, 'hash' | 'size'>;

/** Consecutive elements of a listing. Two consecutive listings usually have most blocks in common. */
export interface ListedBlock {
  /**
   * The first 128 bits of SHA-256 over the bytes from the end of the previous block to the end of this block's last element, in hex.
   * Undefined if the block cannot be recognised.
   */
  readonly hash: string | undefined;
  /** Number of elements, at least 1. */
  readonly size: number;
  /** Whether the source's last listing contained this block, in which case the ledger probably knows it. */
  readonly isRecognised: boolean;
  /** Splits the block and returns its elements. */
  elements(): readonly ListedElement[];
}
