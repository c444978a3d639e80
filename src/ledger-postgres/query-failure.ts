import type { DatabaseError } from 'pg';
import { QueryRefused } from '../ledger/contract/ledger-tables.ts';
import { isOfServer } from '../postgres/server-error.ts';
import { toLedgerFailure } from './database/ledger-failure.ts';

/** The SQLSTATEs that say nothing about a query: of the connection, a rolled back transaction, a lack of resources, a lock, a server that stops, the system. */
const OF_SERVER = /^(08|40|53|55|57|58)/;

/** What is wrong with a query, by SQLSTATE (PostgreSQL manual, appendix A). */
const FAULTS: Readonly<Record<string, string>> = {
  '42501': 'its user lacks a privilege',
  '42601': 'its syntax is wrong',
  '42602': 'a name in it is invalid',
  '42702': 'a column in it is ambiguous',
  '42703': 'a column does not exist',
  '42704': 'a type, a collation or another object does not exist',
  '42725': 'a function or an operator in it is ambiguous',
  '42803': 'a column needs an aggregate function, or a place in GROUP BY',
  '42804': 'types in it do not match',
  '42846': 'a value in it cannot be converted to the type',
  '42883': 'a function or an operator does not exist for the given types',
  '42P01': 'a table or view does not exist',
  '42P18': 'the type of a parameter is not known, and needs a cast',
  '3F': 'a schema does not exist',
  '0A': 'PostgreSQL does not support what it asks for',
  '54': 'it exceeds a limit of the server',
  P0: 'a function that it calls fails',
  '2F': 'a function that it calls fails',
  '38': 'a function that it calls fails',
  '39': 'a function that it calls fails',
};

/**
 * Converts the error of a query that a person typed to one that contains no data of the ledger. `typed` is the SQL as it was sent; undefined for statements
 * of leadsync.
 */
export function toQueryFailure(where: string, error: unknown, typed: string | undefined): Error {
  if (error instanceof QueryRefused) return error;
  if (typed === undefined || !isOfServer(error) || OF_SERVER.test(error.code ?? ''))
    return toLedgerFailure(where, error);
  const { code = '', routine } = error;
  // Read only; or the attempt to make this transaction one that writes.
  if (code === '25006' || code === '25001')
    return new QueryRefused('This statement would write, but a query may only read the ledger.');
  if (/^2[12]/.test(code))
    return new QueryRefused(
      `The query fails on a value that it reads (SQLSTATE ${code}). Check its conversions and divisions.`,
    );
  // The server reports this without a position. The function's name is the same in every language of the server.
  if (code === '42601' && routine === 'exec_parse_message')
    return new QueryRefused('This is more than one statement. A query is one statement.');
  const fault = FAULTS[code] ?? FAULTS[code.slice(0, 2)];
  const place = placeOf(error, typed);
  if (place && isAbout(error.message, typed))
    return new QueryRefused(`PostgreSQL says: ${error.message} (${place}).`);
  const state = [`SQLSTATE ${code}`, ...(place ? [place] : [])].join(', ');
  return new QueryRefused(`PostgreSQL refuses the query: ${fault ?? 'it fails'} (${state}).`);
}

/**
 * Returns the position of an error as line and column. Undefined if the error has none: then it may be about a value that was read, or about SQL in one. Only
 * the parser reports positions in the SQL that was sent, and it has read no table by then.
 */
function placeOf({ position, internalQuery }: DatabaseError, typed: string): string | undefined {
  const at = Number(position) - 1;
  if (internalQuery !== undefined || Number.isNaN(at)) return undefined;
  const lines = [...typed].slice(0, at).join('').split('\n');
  return `line ${lines.length}, column ${[...(lines.at(-1) ?? '')].length + 1}`;
}

/** Whether a message quotes nothing but what the SQL contains. PostgreSQL reports names that were typed without quotes in lower case. */
function isAbout(message: string, typed: string): boolean {
  const text = typed.toLowerCase();
  return [...message.matchAll(/"([^"]*)"/g)].every(([, quoted = '']) => text.includes(quoted.toLowerCase()));
}
