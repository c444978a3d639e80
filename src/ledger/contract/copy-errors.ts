import { LedgerError } from './ledger-error.ts';

/** Returns the error that a ledger is a copy that was not finished. `where` is its place, after "in". */
export function unfinishedError(where: string): LedgerError {
  return new LedgerError(
    'unfinished',
    `The ledger in ${where} is an unfinished copy of another one.`,
    'Give the same `leadsync ledger copy` again: it continues. To stay with the other ledger instead, remove this one, and set or remove ledger.url.',
  );
}

/** Returns the error that a ledger was moved. */
export function movedError(where: string, to: string, at: number): LedgerError {
  return new LedgerError(
    'moved',
    `The ledger in ${where} was moved to ${to} at ${new Date(at).toISOString().replace(/\.\d+Z$/, 'Z')}.`,
    'Use that one: both would deliver the same leads. If that one is lost, or has never been used, `leadsync ledger accept` lets leadsync use this one again; it does not know what the other one has delivered since.',
  );
}

/** Returns the error that the target of a copy is the place of another ledger. */
export function targetTakenError(where: string, what: string, hint: string): LedgerError {
  return new LedgerError('taken', `The ledger in ${where} ${what}.`, hint);
}
