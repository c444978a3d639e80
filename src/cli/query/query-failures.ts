import { relations } from '../../catalog/catalog.ts';
import { didYouMean } from '../../platform/text/suggest.ts';
import { CommandFailure } from '../shell/command-failure.ts';
import { ExitCode } from '../shell/exit-code.ts';

const MB = 1024 ** 2;

/** Returns the failure of a query that cannot be run. */
export function refused(message: string, sql: string): CommandFailure {
  return new CommandFailure(
    ExitCode.usage,
    message,
    columnsFor(message, sql) ??
      '`leadsync query --list` shows the tables, views and documented queries; docs/store.md describes them.',
  );
}

/** Returns the failure of a query that exceeds its time. */
export function tookTooLong(timeoutMs: number): CommandFailure {
  return new CommandFailure(
    ExitCode.notDone,
    `The query took longer than ${timeoutMs / 1000} s and was stopped.`,
    'Select less (a time range, one source), or allow more time with --timeout.',
  );
}

/** Returns the failure of a query that exceeds its memory. */
export function tookTooMuch(maxBytes: number): CommandFailure {
  return new CommandFailure(
    ExitCode.notDone,
    `The query used more than ${Math.round(maxBytes / MB)} MB of memory and was stopped.`,
    'Select less (a time range, one source, no sorting of whole leads), or allow more with --memory.',
  );
}

/** What SQLite and PostgreSQL say of a column that does not exist. */
const MISSING = /no such column: (?:\w+\.)*(\w+)|column "?(?:\w+\.)*(\w+)"? does not exist/;

/**
 * Returns the columns of the tables in the SQL. Returns undefined unless the message reports an unknown column and the SQL names a known
 * table.
 */
function columnsFor(message: string, sql: string): string | undefined {
  const [, inSqlite, inPostgres] = MISSING.exec(message) ?? [];
  const missing = inSqlite ?? inPostgres;
  if (missing === undefined) return undefined;
  const words = new Set(sql.toLowerCase().match(/\w+/g));
  const asked = relations.filter(({ name }) => words.has(name));
  if (asked.length === 0) return undefined;
  const names = asked.flatMap(({ columns }) => columns.map(({ name }) => name));
  const nearest = didYouMean(missing, names);
  const lists = asked.map(({ name, columns }) => `${name} has ${columns.map((one) => one.name).join(', ')}.`);
  return [...(nearest ? [`${missing}: ${nearest}`] : []), ...lists].join('\n');
}
