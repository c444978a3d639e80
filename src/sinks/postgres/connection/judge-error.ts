import type { DatabaseError } from 'pg';
import { type Refused, storedAnswer } from '../../../leads/outcome.ts';
import { networkFailure } from '../../../platform/failures/network-failure.ts';
import { AGAIN, isOfServer } from '../../../postgres/server-error.ts';
import { SinkUnavailable } from '../../sink-unavailable.ts';
import { NotWritten } from '../../table/not-written-error.ts';

/** What an error means: the lead is refused, the database is unavailable, or an immediate retry may work (`again`). */
export type Judged = Refused | SinkUnavailable | 'again';

/** Data exceptions, integrity constraints, RAISE in a trigger, WITH CHECK OPTION, and limits that a value exceeds. */
const REFUSED = /^(22|23|P0|44|54)/;
/** Codes whose messages contain names of tables, roles and settings, and no values. */
const NAMES_ONLY = /^(28|3D|42501|53|57)/;
/**
 * Codes whose messages contain only names if the error is about a name in the statement. Otherwise the message may quote a value cast to
 * `regclass`.
 */
const NAMES_IN_STATEMENT = /^(3F|42)/;

/** Hints. The key is a SQLSTATE or the beginning of one (PostgreSQL manual, appendix A). */
const HINTS: Readonly<Record<string, string>> = {
  '08': "If this continues and there is a pooler in between, check the pooler's log.",
  '0A000':
    'Check for a rule on the table `leads`, and drop it: PostgreSQL cannot upsert into a table with a rule.',
  '25006': 'Set `url` to the primary: this server or user is read-only.',
  '28': 'Check the user and password in `url`, and what pg_hba.conf allows.',
  '3D': 'Create the database, or correct its name in `url`.',
  '3F': 'The schema was dropped. leadsync creates it again with the next attempt; `leadsync replay` fills it.',
  '42P01': 'Restore it. Or drop the whole schema: leadsync creates it again, and `leadsync replay` fills it.',
  '42703':
    'If it is the column of a field, the next attempt adds it again. Otherwise restore it, or drop the whole schema: leadsync creates it again, and `leadsync replay` fills it.',
  '42501': 'Grant the user that right.',
  '53100': 'Free up disk space on the server; leads wait until there is enough.',
  '53300': 'Raise max_connections on the server, or lower `concurrency`.',
  '57014': 'Check what holds locks or slows the server down, or raise `timeout`.',
  '57P': 'Start the server again, unless it restarts by itself.',
};

/**
 * Returns what an error from PostgreSQL or the connection means: whether the lead is refused, the database is unavailable, or the transaction may be
 * tried again. Decides by the error's code, never by its message. `what` names the statement or lead in the reason.
 */
export function judgeError(where: string, error: unknown, what: string): Judged {
  if (error instanceof NotWritten) {
    const reason = `${where} did not write the lead to ${error.table} and reported no error: a trigger or rule on that table discards it or changes its key. Change or drop that trigger or rule.`;
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
    return { kind: 'refused', reason, answer: answerOf(error) };
  }
  const said = namesOnly(error) ? `: ${message}` : '';
  return new SinkUnavailable(`${where} cannot be used (SQLSTATE ${code})${said}.`, {
    hint: hintFor(error),
    answer: answerOf(error),
    cause: error,
  });
}

/**
 * Whether the message contains no value of a lead. A position means that the fault is in the text of leadsync's statement, where every
 * value is a parameter. A context means that a function raised the error, and its message may contain anything.
 */
function namesOnly({ code = '', position, where }: DatabaseError): boolean {
  if (where !== undefined) return false;
  return NAMES_ONLY.test(code) || (NAMES_IN_STATEMENT.test(code) && position !== undefined);
}

/**
 * Returns the next step. Mentions functions and constraints if a function or constraint may have raised the error: a function can use any
 * code.
 */
function hintFor(error: DatabaseError): string {
  const { code = '', where } = error;
  const hint = HINTS[code] ?? HINTS[code.slice(0, 3)] ?? HINTS[code.slice(0, 2)];
  const inContext =
    "If a trigger, another function or a constraint raised the error, the server's log has its message.";
  if (hint === undefined) return "Check the server's log.";
  const isFromElsewhere = where !== undefined || (NAMES_IN_STATEMENT.test(code) && !namesOnly(error));
  return isFromElsewhere ? `${hint} ${inContext}` : hint;
}

/** Returns the table, column and constraint of an error, which are never values. */
function namesIn({ table, column, constraint }: DatabaseError): string[] {
  return Object.entries({ table, column, constraint }).flatMap(([what, name]) =>
    name ? [`${what} ${name}`] : [],
  );
}

function answerOf({ message, detail }: DatabaseError): string | undefined {
  return storedAnswer([message, detail].filter(Boolean).join('\n'));
}
