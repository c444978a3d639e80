import { codeOf } from '../platform/failures/error-code.ts';

/**
 * Fields of a line, except the time: `who` acted, `via` which credential or interface, `what` was done, and the details. Contains no lead
 * content and no secret.
 */
export type AuditFields = Readonly<Record<string, string | number | boolean | undefined>>;

/** A filter for lines; a line must match every given field. */
export interface AuditFilter {
  readonly who?: string | undefined;
  readonly what?: string | undefined;
  /** Written at or after `since`, and before `until`. */
  readonly since?: Date | undefined;
  readonly until?: Date | undefined;
}

/** A line of the audit log. */
export interface AuditLine {
  /** Cursor of the line: the file's inode and the offset, which stay the same when the file is rotated. */
  readonly id: string;
  readonly at: string;
  /** The person or program; undefined for a line about an unknown client, for example one that sent a wrong token. */
  readonly who: string | undefined;
  /** The credential or interface that was used: `token`, `session`, `cli` … */
  readonly via: string | undefined;
  readonly what: string;
  readonly address: string | undefined;
  /** The other fields. */
  readonly details: Readonly<Record<string, string | number | boolean>>;
}

/** The page to read: at most `limit` lines, newest first, from the newest or, with `after`, from the line that follows that cursor. */
export interface AuditRequest {
  readonly limit: number;
  readonly after?: string | undefined;
}

/** Lines, newest first. `next` is the cursor of the following page, null at the end. A page may be shorter than its limit. */
export interface AuditPage {
  readonly rows: readonly AuditLine[];
  readonly next: string | null;
}

/** A number of lines. `isAtLeast`: counting stopped, so there may be more. */
export interface AuditCount {
  readonly count: number;
  readonly isAtLeast: boolean;
}

/** The audit log of an installation. */
export interface AuditStore {
  /** What an operator can do if a line cannot be written, as a sentence. */
  readonly hint: string;
  /** Adds a line, and resolves when it is durable. @throws an error with a `code` if that fails; the caller must then not act */
  write(fields: AuditFields): Promise<void>;
  /** Returns a page of lines. Returns undefined if the line `after` no longer exists. @throws an error with a `code` */
  read(filter: AuditFilter, request: AuditRequest): Promise<AuditPage | undefined>;
  /** Counts matching lines, up to `most`. Stops earlier if it would have to read too many that do not match. @throws an error with a `code` */
  count(filter: AuditFilter, most: number): Promise<AuditCount>;
  /** Waits for the lines in progress. */
  close(): Promise<void>;
}

/** The audit log cannot be written, so the action was not done. */
export class AuditFailed extends Error {
  override readonly name = 'AuditFailed';
  /** The next step for the operator. */
  readonly hint: string;

  constructor(cause: unknown, { hint }: Pick<AuditStore, 'hint'>) {
    super(
      `Nothing was done, because the audit log cannot be written (${codeOf(cause) ?? 'unknown error'}).`,
      { cause },
    );
    this.hint = hint;
  }
}
