import { type Refused, storedAnswer } from '../../../leads/outcome.ts';
import { codeOf } from '../../../platform/failures/error-code.ts';
import { networkFailure } from '../../../platform/failures/network-failure.ts';
import { SinkUnavailable } from '../../sink-unavailable.ts';
import { NotWritten } from '../../table/not-written-error.ts';
import { TooLarge } from '../sql/statement-rows.ts';

/** What an error means: the lead is refused, the database is unavailable, or an immediate retry may work (`again`). */
export type Judged = Refused | SinkUnavailable | 'again';

/** What a database is called in messages, and in statements that an administrator runs. */
export interface Called {
  /** `MySQL at db.example.com:3306`. */
  readonly where: string;
  /** The database, quoted as in SQL. */
  readonly database: string;
  /** The account in the form that `GRANT` takes. */
  readonly account: string;
}

/**
 * An error from the server (MySQL manual, "Error Message Elements"). Error names are unreliable, because mysql2 names MariaDB's errors by
 * MySQL's list.
 */
interface ServerError extends Error {
  readonly errno: number;
  readonly sqlState: string;
}

/** Data exceptions, integrity constraints, WITH CHECK OPTION, and SIGNAL in a trigger. */
const REFUSED = /^(22|23|44|45)/;
/**
 * Errors that are about a value, although MySQL reports them with the general SQLSTATE HY000 or 42000: a character that the column's character
 * set lacks, a truncated value, a row that is too large for a page, WITH CHECK OPTION, and CHECK.
 */
const REFUSED_ERRORS: ReadonlySet<number> = new Set([1265, 1366, 1118, 1369, 3819]);
/**
 * Deadlock or serialization failure (by SQLSTATE and by number), lock timeout, a row that changed after it was read, and a table that was
 * altered during the transaction.
 */
const AGAIN_STATE = '40001';
const AGAIN_ERRORS: ReadonlySet<number> = new Set([1020, 1205, 1213, 1412, 1615]);
/** Errors whose messages contain names of tables, columns, constraints, settings and accounts, and no values. */
const NAMES_ONLY: ReadonlySet<number> = new Set([
  1040, 1044, 1045, 1047, 1048, 1049, 1054, 1114, 1117, 1118, 1130, 1142, 1143, 1146, 1203, 1205, 1213, 1226,
  1227, 1264, 1290, 1364, 1370, 1406, 1452, 1665, 1698, 1792, 1820, 1836, 1862, 3118, 3159, 3819, 4025,
]);

/** What a refusal means, in words, for errors whose messages may contain a value. */
const MEANINGS: Readonly<Record<number, string>> = {
  1062: 'another row has the same value in a unique key',
  1265: 'a value does not fit its column',
  1292: 'a value does not fit its column',
  1366: 'a value does not fit its column, or has a character that the character set of the column lacks',
  1644: 'a trigger signalled an error',
};

/** All the rights that leadsync needs on the tables: to create and migrate them, and to write and erase leads. */
const RIGHTS = 'SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, INDEX';

/** Hints by error number. */
const HINTS: Readonly<Record<number, string | ((called: Called) => string)>> = {
  1040: 'Raise max_connections on the server, or lower `concurrency`.',
  1044: grant,
  1045: 'Check the user and password in `url`, and from which hosts the account may connect. If the server requires TLS, add `?sslmode=verify-full`.',
  1047: 'Check the cluster: this node is not ready for queries.',
  1049: ({ database, account }) =>
    `Run as an administrator: CREATE DATABASE ${database} CHARACTER SET utf8mb4; GRANT ${RIGHTS} ON ${database}.* TO ${account}; or correct the name in \`url\`.`,
  1054: 'If it is the column of a field, the next attempt adds it again. Otherwise `leadsync check` has the statement that adds it.',
  1114: 'Free up disk space on the server; leads wait until there is enough.',
  1117: 'Use fewer fields: a map or a list of several values needs only one column.',
  1130: 'Allow the account to connect from this host.',
  1142: grant,
  1143: grant,
  1146: 'leadsync creates it again with the next attempt; `leadsync replay` fills it.',
  1153: 'Raise max_allowed_packet on the server.',
  1203: 'Raise max_user_connections for the account, or lower `concurrency`.',
  1226: 'Raise the limits of the account on the server.',
  1227: grant,
  1290: 'Set `url` to the primary: this server is read-only.',
  1364: 'Give that column, which leadsync did not create, a default value, or allow NULL in it.',
  1370: grant,
  1665: 'Set binlog_format to ROW or MIXED on the server.',
  1698: 'Check the user and password in `url`, and the authentication plugin of the account.',
  1792: 'Set `url` to the primary: this server is read-only.',
  1820: 'Set a new password for the account.',
  1836: 'Set `url` to the primary: this server is read-only.',
  1862: 'Set a new password for the account.',
  3118: 'Unlock the account.',
  3159: 'The server requires TLS: add `?sslmode=verify-full` to `url`.',
};

function grant({ database, account }: Called): string {
  return `Run as an administrator: GRANT ${RIGHTS} ON ${database}.* TO ${account}`;
}

/** Connection failures for which mysql2 has codes of its own. The messages contain no values. */
const CONNECTION: Readonly<Record<string, { what: string; hint: string }>> = {
  PROTOCOL_CONNECTION_LOST: {
    what: 'closed the connection',
    hint: "If this continues, check the server's log, and `wait_timeout` and `max_allowed_packet` there.",
  },
  HANDSHAKE_NO_SSL_SUPPORT: {
    what: 'offers no TLS',
    hint: 'Turn TLS on at the server, or remove `sslmode` from `url`.',
  },
  AUTH_SWITCH_PLUGIN_ERROR: {
    what: 'wants the account to log in by a method that leadsync does not know',
    hint: 'Give the account another authentication plugin: caching_sha2_password or mysql_native_password.',
  },
};

/**
 * Returns what an error from the server or the connection means: whether the lead is refused, the database is unavailable, or the transaction may be
 * tried again. Decides by the error's code, never by its message. `what` names the statement or lead in the reason.
 */
export function judgeError(called: Called, error: unknown, what: string): Judged {
  const { where } = called;
  if (error instanceof NotWritten) {
    const reason = `${where} did not write the lead to ${error.table} and reported no error: a trigger on that table changes the lead's key, or another unique key already has one of the lead's values. Change the trigger, or drop that key.`;
    return { kind: 'refused', reason };
  }
  if (error instanceof TooLarge) return { kind: 'refused', reason: error.message, unsent: true };
  if (!isOfServer(error)) return connectionFailure(where, error);
  const { errno, sqlState } = error;
  if (sqlState === AGAIN_STATE || AGAIN_ERRORS.has(errno)) return 'again';
  const code = `error ${errno}, SQLSTATE ${sqlState}`;
  if (REFUSED.test(sqlState) || REFUSED_ERRORS.has(errno)) {
    const said = NAMES_ONLY.has(errno) ? error.message : MEANINGS[errno];
    const reason = `${where} refused ${what} (${code})${said === undefined ? '' : `: ${said}`}.`;
    return { kind: 'refused', reason, answer: storedAnswer(error.message) };
  }
  const said = NAMES_ONLY.has(errno) ? `: ${error.message}` : '';
  const hint = HINTS[errno] ?? "Check the server's log.";
  return new SinkUnavailable(`${where} cannot be used (${code})${said}.`, {
    hint: typeof hint === 'function' ? hint(called) : hint,
    answer: storedAnswer(error.message),
    cause: error,
  });
}

function connectionFailure(where: string, error: unknown): SinkUnavailable {
  const code = codeOf(error) ?? '';
  if (code === 'HANDSHAKE_SSL_ERROR')
    // The message is OpenSSL's or Node's, about the certificate.
    return new SinkUnavailable(
      `${where} has no TLS certificate that leadsync accepts: ${(error as Error).message}.`,
      {
        hint: 'Use the host name of the certificate, name its authority with `sslrootcert` in `url`, or renew it.',
        cause: error,
      },
    );
  const known = CONNECTION[code];
  const { what, hint } = known ? { ...known, what: `${known.what} (${code})` } : networkFailure(error);
  return new SinkUnavailable(`${where} ${what}.`, { hint, cause: error });
}

/** Whether the server sent the error. System errors have negative numbers. */
function isOfServer(error: unknown): error is ServerError {
  return (
    error instanceof Error &&
    'errno' in error &&
    typeof error.errno === 'number' &&
    error.errno > 0 &&
    'sqlState' in error
  );
}
