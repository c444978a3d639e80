/** The right to change a document, which only one process has at a time. This process has it until `release`, or until `lost` aborts. */
export interface DocumentLock {
  /** Aborts when another process may take the lock, because this one has not shown for too long that it is alive. */
  readonly lost: AbortSignal;
  /** Whether no other process can have the lock. Also notices that this process stood still, which `lost` can do only afterwards. */
  isHeld(): boolean;
  release(): Promise<void>;
}

/** A document was not changed, because another process has taken the lock that its writer held. */
export class LockLost extends Error {
  override readonly name = 'LockLost';
  readonly code = 'lock-lost';
}

/**
 * Small texts that outlive a process, each under a name. All processes of an installation share them. A write, a rename and a removal are atomic, and
 * durable when the promise resolves. If they are called with a lock (`under`), they change nothing once another process has taken it, and throw LockLost.
 * Every method throws an error with a `code` if the store fails.
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
  write(name: string, text: string, under?: DocumentLock): Promise<void>;
  /** Gives a document another name, and replaces the document that has it. */
  rename(from: string, to: string, under?: DocumentLock): Promise<void>;
  /** Removes a document. Does nothing if there is none. */
  remove(name: string, under?: DocumentLock): Promise<void>;
  /** Takes the lock of a name; undefined if another process has it. The lock of a dead process becomes free, at the latest while a caller keeps trying. */
  tryLock(name: string): Promise<DocumentLock | undefined>;
  /** Whether a process holds the lock of a name. A dead process may count for some seconds. */
  isLocked(name: string): Promise<boolean>;
}
