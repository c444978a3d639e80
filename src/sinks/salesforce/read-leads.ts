import { AnswerTooLong } from '../http/api-server.ts';
import type { Limits, QueriedRecord, SalesforceApi } from './salesforce-api.ts';

/** A lead in Salesforce. */
export interface ExistingLead {
  readonly id: string;
  /** Whether a salesperson has converted it into a contact. A converted lead can no longer be changed. */
  readonly isConverted: boolean;
  readonly values: QueriedRecord;
}

/** Maximum number of values to look for in one query. Each record in the answer has one of these values in the field `by`. */
const MAX_KEYS = 200;
/** Maximum total number of characters of the values in one query. The address of a query is limited to 16,384 characters. */
const MAX_CHARACTERS = 8_000;

/** Returns the leads whose field `by` has one of these values, by that value. Splits a query whose answer is too long. @throws SinkUnavailable */
export async function readLeads(
  api: SalesforceApi,
  {
    by,
    keys,
    names,
  }: { readonly by: string; readonly keys: readonly string[]; readonly names: Iterable<string> },
  limits: Limits,
): Promise<Map<string, ExistingLead>> {
  const found = new Map<string, ExistingLead>();
  const columns = [...new Set(['Id', 'IsConverted', by, ...names])].join(',');
  const waiting = [...partsOf(keys)];
  for (let part = waiting.shift(); part; part = waiting.shift())
    try {
      const soql = `SELECT ${columns} FROM Lead WHERE ${by} IN (${part.join(',')})`;
      for await (const page of api.query(soql, limits))
        for (const values of page) {
          const { Id, IsConverted } = values;
          found.set(String(values[by]), { id: String(Id), isConverted: IsConverted === true, values });
        }
    } catch (error) {
      if (!(error instanceof AnswerTooLong) || part.length === 1) throw error;
      waiting.unshift(...halvesOf(part));
    }
  return found;
}

/** Returns the two halves of a list. */
export function halvesOf<T>(list: readonly T[]): readonly [readonly T[], readonly T[]] {
  const middle = Math.ceil(list.length / 2);
  return [list.slice(0, middle), list.slice(middle)];
}

/** Returns the values as SOQL literals, in lists that each fit into one query. */
function partsOf(keys: readonly string[]): readonly (readonly string[])[] {
  const parts: string[][] = [];
  let room = 0;
  for (const key of keys) {
    const literal = `'${key.replace(/[\\']/g, '\\$&')}'`;
    const length = encodeURIComponent(literal).length + 3;
    const part = parts.at(-1);
    if (part !== undefined && part.length < MAX_KEYS && length <= room) part.push(literal);
    else {
      parts.push([literal]);
      room = MAX_CHARACTERS;
    }
    room -= length;
  }
  return parts;
}
