import type { DatabaseError } from 'pg';
import type { Refused } from '../../../leads/outcome.ts';
import { networkFailure } from '../../../platform/failures/network-failure.ts';
import { SinkUnavailable } from '../../sink.ts';
import { NotWritten } from './not-written.ts';

/** What an error means: this lead is not wanted, or the database cannot be used; `again`: the same may work at once. */
export type Judged = Refused | SinkUnavailable | 'again';

/** Serialization failure, deadlock: somebody else was first. */
const AGAIN: ReadonlySet<string> = new Set(['40001', '40P01']);
/** Data exceptions, integrity constraints, RAISE in somebody's trigger, WITH CHECK OPTION, limits that a value exceeds. */
const REFUSED = /^(22|23|P0|44|54)/;
/** Codes whose messages name tables, roles and settings, and no value. */
const NAMES_ONLY = /^(28|3D|42501|53|57)/;
/** The same, where the message is about a name in the statement: a value that is cast to `regclass` is taken for a name as well. */
const NAMES_IN_STATEMENT = /^(3F|42)/;

/** By SQLSTATE, or by its class (PostgreSQL manual, appendix A). */
const HINTS: Readonly<Record<string, string>> = {
  '08': 'If it stays so, see whether a pooler lies between, and its log.',
  '0A000': 'See whether somebody put a rule on the table `leads`: PostgreSQL then cannot upsert. Drop it.',
  '25006': 'Set `url` to the primary: this server or user is read-only.',
  '28': 'See whether user and password in `url` are right, and what pg_hba.conf allows.',
  '3D': 'Create the database, or correct its name in `url`.',
  '3F': 'The schema was dropped: it is made anew with the next attempt. `leadsync replay` brings what was in it.',
  '42P01':
    'Restore it; or drop the schema, so that it is made anew, and bring all leads by `leadsync replay`.',
  '42703':
    'Restore the column; or drop the schema, so that it is made anew, and bring all leads by `leadsync replay`.',
  '42501': 'Grant the user that right.',
  '53100': "Make room on the server's disk; leads wait until then.",
  '53300': 'Raise max_connections on the server, or lower `concurrency`.',
  '57014': 'See what holds locks or slows the server down, or raise `timeout`.',
  '57P': 'Start the server again, if nobody does.',
};

/** Decides what an error of PostgreSQL, or of the way to it, means for `what` it was given. Does not look at its text. */
export function judgeError(where: string, error: unknown, what: string): Judged {
  if (error instanceof NotWritten) {
    const reason = `${where} did not write the lead to ${error.table} and reported no error: a trigger or a rule on that table leaves it out, or changes its key. Change or drop that.`;
    return { kind: 'refused', reason };
  }
  if (!isOfServer(error)) {
    const failure = networkFailure(error);
    return new SinkUnavailable(`${where} ${failure.what}.`, { hint: failure.hint, cause: error });
  }
  const { code = '', message } = error;
  if (AGAIN.has(code)) return 'again';
  if (REFUSED.test(code)) {
    const reason = `${where} refused ${what} (${[`SQLSTATE ${code}`, ...namesIn(error)].join(', ')}).`;
    return { kind: 'refused', reason, answer: textOf(error) };
  }
  const said = namesOnly(error) ? `: ${message}` : '';
  return new SinkUnavailable(`${where} cannot be used (SQLSTATE ${code})${said}.`, {
    hint: hintFor(error),
    answer: textOf(error),
    cause: error,
  });
}

/** Every error that a server sends has a severity (PostgreSQL manual, "Error and Notice Message Fields"), and no error of Node has. */
function isOfServer(error: unknown): error is DatabaseError {
  return error instanceof Error && 'severity' in error && 'code' in error;
}

/**
 * Whether the message holds no value of a lead. PostgreSQL gives a position for what it finds wrong in the text of leadsync's own
 * statement, where every value is a parameter. A context means that a function raised the error: its text may hold anything.
 */
function namesOnly({ code = '', position, where }: DatabaseError): boolean {
  if (where !== undefined) return false;
  return NAMES_ONLY.test(code) || (NAMES_IN_STATEMENT.test(code) && position !== undefined);
}

/** A function or constraint that somebody added may have raised the error, with a code that then means something else. */
function hintFor(error: DatabaseError): string {
  const { code = '', where } = error;
  const hint = HINTS[code] ?? HINTS[code.slice(0, 3)] ?? HINTS[code.slice(0, 2)];
  const inContext =
    "If a function of the database raised it, such as a trigger, or a constraint, the server's log has its text.";
  if (hint === undefined) return "See the server's log.";
  const isFromElsewhere = where !== undefined || (NAMES_IN_STATEMENT.test(code) && !namesOnly(error));
  return isFromElsewhere ? `${hint} ${inContext}` : hint;
}

/** What the server names beside its message: never a value. */
function namesIn({ table, column, constraint }: DatabaseError): string[] {
  return Object.entries({ table, column, constraint }).flatMap(([what, name]) =>
    name ? [`${what} ${name}`] : [],
  );
}

function textOf({ message, detail }: DatabaseError): string {
  return [message, detail].filter(Boolean).join('\n').slice(0, 1000).toWellFormed();
}
