import type { DatabaseError } from 'pg';

/** The codes after which a transaction is tried again: serialization failure and deadlock. */
export const AGAIN: ReadonlySet<string> = new Set(['40001', '40P01']);

/**
 * Whether the server sent the error. Errors from the server have a severity (PostgreSQL manual, "Error and Notice Message Fields"); errors
 * from Node.js do not.
 */
export function isOfServer(error: unknown): error is DatabaseError {
  return error instanceof Error && 'severity' in error && 'code' in error;
}
