/** The right to change a document. Its holder is the only one while it lives. */
export interface DocumentLock {
  release(): Promise<void>;
}

/**
 * Small texts that outlive a process, each under a name. All processes of an installation share them. A write, a rename and a removal are atomic, and
 * durable when the promise resolves. Every method throws an error with a `code` if the store fails.
 */
export interface DocumentStore {
  /** What an operator can do if the store fails, as a sentence. */
  readonly hint: string;
  /** Returns where a document is, for messages. */
  placeOf(name: string): string;
  /** Makes the store ready for `write`. */
  prepare(): Promise<void>;
  /** Throws if this process cannot write documents. */
  probe(): Promise<void>;
  names(): Promise<readonly string[]>;
  /** Returns the text of a document; undefined if there is none. */
  read(name: string): Promise<string | undefined>;
  write(name: string, text: string): Promise<void>;
  /** Gives a document another name, and replaces the document that has it. */
  rename(from: string, to: string): Promise<void>;
  /** Removes a document. Does nothing if there is none. */
  remove(name: string): Promise<void>;
  /** Takes the lock of a name; undefined if another process has it. The lock of a dead process becomes free. */
  tryLock(name: string): Promise<DocumentLock | undefined>;
}
