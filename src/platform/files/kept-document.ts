import type { DocumentStore } from './document-store.ts';

/**
 * A document with a copy in memory, for the time in which its store cannot be reached. What could not be written stays in memory, and is what `read`
 * returns until another process has changed the document.
 */
export class KeptDocument {
  readonly #documents: DocumentStore;
  readonly #name: string;
  /** The text of the store, as this process has read or written it last. */
  #known: string | undefined;
  #unwritten: string | undefined;
  #isKnown = false;

  constructor(documents: DocumentStore, name: string) {
    this.#documents = documents;
    this.#name = name;
  }

  /** Returns the text; undefined if there is none. @throws the error of the store if it cannot be read and nothing is in memory */
  async read(): Promise<string | undefined> {
    try {
      const text = await this.#documents.read(this.#name);
      if (this.#unwritten !== undefined && this.#isKnown && text === this.#known) return this.#unwritten;
      this.#know(text);
      return text;
    } catch (error) {
      const kept = this.#unwritten ?? this.#known;
      if (kept === undefined) throw error;
      return kept;
    }
  }

  /** Writes the text unless the store has it. @throws the error of the store; the text is then only in memory */
  async write(text: string): Promise<void> {
    if (this.#unwritten === undefined && this.#known === text) return;
    this.#unwritten = text;
    await this.#documents.prepare();
    await this.#documents.write(this.#name, text);
    this.#know(text);
  }

  /** Removes the document, also from memory. @throws the error of the store */
  async remove(): Promise<void> {
    this.#know(undefined);
    await this.#documents.remove(this.#name);
  }

  #know(text: string | undefined): void {
    this.#known = text;
    this.#isKnown = true;
    this.#unwritten = undefined;
  }
}
