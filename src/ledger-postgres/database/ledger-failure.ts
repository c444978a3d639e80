import { LedgerError } from '../../ledger/contract/ledger-error.ts';
import { networkFailure } from '../../platform/failures/network-failure.ts';
import { DeadlinePassed } from '../../platform/time/deadline.ts';
import { isOfServer } from '../../postgres/server-error.ts';

const RESTORE = 'Restore the schema of the ledger from a backup.';

/**
 * What an error of the server means, by SQLSTATE or the beginning of one (PostgreSQL manual, appendix A). `what` follows the name of the ledger.
 */
const MEANINGS: Readonly<Record<string, readonly [LedgerError['code'], what: string, hint: string]>> = {
  '08': [
    'away',
    'cannot be reached: the connection was lost',
    'If this continues, check the server, and any pooler in between.',
  ],
  '57P': [
    'away',
    'cannot be used while the server stops or starts',
    'leadsync continues by itself once the server is back.',
  ],
  '25P03': [
    'busy',
    'did not accept a write: the server rolled back a transaction that stood still for too long',
    'If this continues, check what keeps leadsync from running, such as a processor that is too busy.',
  ],
  '25P04': [
    'busy',
    'did not accept a write: the server rolled back a transaction that took too long',
    'Check what holds locks or slows the server down.',
  ],
  '25006': [
    'standby',
    'cannot be written to, because the server is read-only',
    'leadsync connects again by itself. If this continues, set the address to the primary server.',
  ],
  '53100': [
    'full',
    "cannot be written to, because the server's disk is full",
    'Free some space on the server; leadsync then continues by itself.',
  ],
  '53200': [
    'full',
    'cannot be used, because the server has no memory left',
    'Give the server more memory; leadsync then continues by itself.',
  ],
  '53300': [
    'busy',
    'cannot be used, because the server accepts no more connections',
    'Raise max_connections on the server, or the connection limit of the database or role.',
  ],
  '55P03': [
    'busy',
    'cannot be written to, because another transaction has kept its rows locked for too long',
    'Find the transaction that holds the lock, and end it.',
  ],
  '57014': [
    'busy',
    'did not answer in time: the server stopped the statement',
    'Check what holds locks or slows the server down.',
  ],
  '40': [
    'busy',
    'did not accept a write: the server rolled the transaction back in favour of another one',
    'If this continues, check what else writes to the ledger.',
  ],
  '28': [
    'rights',
    'cannot be opened, because the server refuses the user or the password',
    'Check the user and the password, and what pg_hba.conf allows.',
  ],
  '42501': [
    'rights',
    'cannot be used, because the user lacks a privilege',
    'Make the user the owner of the schema of the ledger.',
  ],
  '3D': [
    'missing',
    'cannot be opened, because its database does not exist',
    'Create the database, or correct its name.',
  ],
  '3F': [
    'missing',
    'cannot be opened, because its schema does not exist',
    'Restore the database from a backup.',
  ],
  '42P01': ['missing', 'lacks one of its tables', RESTORE],
  '42883': ['missing', 'lacks one of its functions', RESTORE],
  '42703': ['damaged', 'lacks one of its columns', RESTORE],
};

/** Returns a `LedgerError` that says what an error of PostgreSQL or of the connection means. Never repeats the error's text, which may quote a lead. */
export function toLedgerFailure(where: string, error: unknown): LedgerError {
  if (error instanceof LedgerError) return error;
  if (error instanceof DeadlinePassed)
    return new LedgerError(
      'away',
      `The ledger in ${where} did not answer in time.`,
      'Check whether the server can be reached, and what slows it down.',
      error,
    );
  if (isOfServer(error)) return ofServer(where, error.code ?? '', error);
  if (!isOfConnection(error)) return unexpected(where, error);
  const { what, hint } = networkFailure(error);
  return new LedgerError('away', `The ledger in ${where} ${what}.`, hint, error);
}

/** Whether the connection of a failed transaction must not be used again. The next use connects again, perhaps to another server. */
export function endsConnection(error: unknown): boolean {
  if (error instanceof LedgerError) return error.code === 'pooled';
  return isReadOnly(error) || (isOfServer(error) && /^(08|57P)/.test(error.code ?? ''));
}

/** Whether the server refused to write, because it has become a standby or was set to read-only. */
export function isReadOnly(error: unknown): boolean {
  return isOfServer(error) && error.code === '25006';
}

function ofServer(where: string, code: string, error: Error): LedgerError {
  const meaning = MEANINGS[code] ?? MEANINGS[code.slice(0, 3)] ?? MEANINGS[code.slice(0, 2)];
  if (!meaning) return unexpected(where, error, code);
  const [kind, what, hint] = meaning;
  return new LedgerError(kind, `The ledger in ${where} ${what} (SQLSTATE ${code}).`, hint, error);
}

function unexpected(where: string, error: unknown, code?: string): LedgerError {
  const said = code ? ` (SQLSTATE ${code})` : '';
  return new LedgerError(
    'unexpected',
    `The ledger in ${where} failed${said}.`,
    'This is a fault in leadsync: please report it.',
    error,
  );
}

/** Whether the connection failed: an error of the system, or one of the driver about a connection that ended. */
function isOfConnection(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return (
    'code' in error ||
    /^(Connection terminated|Client has encountered a connection error|timeout exc)/.test(error.message)
  );
}
