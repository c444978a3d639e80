import { type Contact, contactMatcher, contactOf } from '../../../leads/find-contact.ts';
import type { PersonSearch } from '../../contract/page-rows.ts';

/** Maximum number of versions read for one answer. */
const MAX_CONTENTS = 20_000;
/** Maximum total length of these versions, in UTF-16 code units. The last version may exceed it. */
const MAX_CHARACTERS = 40_000_000;

/** Decides for one answer which versions match a search, and when enough of them were read. */
export class ContactSearch {
  readonly #source: string | undefined;
  readonly #matches: (contact: Contact) => boolean;
  #contents = 0;
  #characters = 0;

  /** A search text that is too short matches nothing. */
  constructor({ text, source }: PersonSearch) {
    this.#source = source;
    this.#matches = contactMatcher(text) ?? (() => false);
  }

  /** The number of versions that were read. */
  get contents(): number {
    return this.#contents;
  }

  /** Whether no more versions may be read for this answer. */
  get isFull(): boolean {
    return this.#contents === MAX_CONTENTS || this.#characters > MAX_CHARACTERS;
  }

  /** Counts a version as read. Returns its contact if it matches. Versions of other sources count too. */
  read({ source, raw }: { readonly source: string; readonly raw: string }): Contact | undefined {
    this.#contents += 1;
    this.#characters += raw.length;
    return this.#source === undefined || source === this.#source ? this.match(raw) : undefined;
  }

  /** Returns the contact in a lead's text if it matches. */
  match(raw: string): Contact | undefined {
    const contact = contactOf(raw);
    return contact && this.#matches(contact) ? contact : undefined;
  }
}
