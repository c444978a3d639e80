import type { Parameter, Query } from '../../catalog/query.ts';
import type { QueryValue, QueryValues } from '../../ledger/contract/ledger-tables.ts';
import { printable } from '../../platform/text/printable.ts';
import { readLeadId } from '../arguments/filter.ts';
import { isAge, readMoment } from '../arguments/read-moment.ts';
import { CommandFailure } from '../shell/command-failure.ts';
import { ExitCode } from '../shell/exit-code.ts';

const DAY_MS = 86_400_000;

/** Matches a number in SQL syntax. A telephone number with a leading zero or plus does not match. */
const NUMBER = /^-?(?:0|[1-9]\d*)(\.\d+)?$/;
const QUOTED = /^'((?:[^']|'')*)'$/;

/** Reads the values of `--set` for each `:name` of a query. @throws CommandFailure */
export function readValues(
  given: readonly string[],
  { sql, parameters }: Pick<Query, 'sql'> & Partial<Query>,
  now: Date,
): QueryValues {
  const values = new Map(given.map(pairOf));
  const known = parameters?.map(({ name }) => name) ?? namesIn(sql);
  const unknown = [...values.keys()].find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw new CommandFailure(
      ExitCode.usage,
      `The query has no :${printable(unknown)}.`,
      known.length === 0 ? 'It has no parameters.' : `Its parameters are ${known.join(', ')}.`,
    );
  return parameters === undefined
    ? Object.fromEntries([...values].map(([name, text]) => [name, ownValue(text, now)]))
    : Object.fromEntries(
        parameters.map((one) => [one.name, readValue(one, values.get(one.name), now)] as const),
      );
}

/** Returns a note about the values that were bound as numbers, for a query that found nothing: a number may not equal the same digits as text. */
export function noteOnNumbers(values: QueryValues): string {
  const numbers = Object.entries(values).filter(([, value]) => typeof value !== 'string');
  return numbers
    .map(
      ([name]) =>
        `:${name} was read as a number. If it is compared with text, put it in quotes: --set "${name}='…'".\n`,
    )
    .join('');
}

/**
 * Returns the names of the parameters in SQL (https://www.sqlite.org/lang_expr.html#varparam), and of anything inside a string literal that
 * looks like a parameter.
 */
function namesIn(sql: string): string[] {
  return [...new Set([...sql.matchAll(/[:@$]([A-Za-z_]\w*)/g)].map(([, name = '']) => name))];
}

/**
 * Reads a value for a user's own SQL, which declares no types. An age becomes a time, text in SQL quotes loses the quotes, and a number
 * becomes a number; any other text stays unchanged. SQLite orders every number before every text, so a number bound as text would compare
 * wrongly without an error.
 */
function ownValue(text: string, now: Date): QueryValue {
  const quoted = QUOTED.exec(text)?.[1];
  if (quoted !== undefined) return quoted.replaceAll("''", "'");
  if (isAge(text, now)) return readMoment(text, now).toISOString();
  const [number, fraction] = NUMBER.exec(text) ?? [];
  if (number === undefined) return text;
  if (fraction !== undefined) return Number(text);
  const integer = BigInt(text);
  return integer === BigInt.asIntN(64, integer) ? integer : text;
}

function pairOf(text: string): [string, string] {
  const at = text.indexOf('=');
  if (at > 0) return [text.slice(0, at), text.slice(at + 1)];
  throw new CommandFailure(
    ExitCode.usage,
    `--set needs name=value, not "${printable(text)}".`,
    'Name a parameter of the query: --set since=7d.',
  );
}

function readValue(
  { name, type, means, daysAgo, example }: Parameter,
  given: string | undefined,
  now: Date,
): QueryValue {
  if (given === undefined && daysAgo !== undefined)
    return new Date(now.getTime() - daysAgo * DAY_MS).toISOString();
  const hint = `--set ${name}=${example ?? '7d'}, for ${means}.`;
  if (given === undefined)
    throw new CommandFailure(ExitCode.usage, `The query needs a value for :${name}.`, hint);
  try {
    if (type === 'time') return readMoment(given, now).toISOString();
    return type === 'id' ? readLeadId(given) : given;
  } catch (error) {
    throw new CommandFailure(ExitCode.usage, `--set ${name}: ${(error as Error).message}`, hint);
  }
}
