import type { Column } from '../../catalog/relation.ts';
import type { Cell } from '../../ledger/contract/ledger-tables.ts';
import { answersBySlug } from '../../ledger/rules/extraction/answers-by-slug.ts';
import type { Parsers } from '../streamed-rows.ts';

/** Reads each value of a relation in the form that a ledger in SQLite has it. */
export const CELLS: Parsers = {
  16: (text) => (text === 't' ? 1n : 0n), // boolean
  20: BigInt, // bigint
  23: BigInt, // integer
  701: Number, // double precision
  1184: timeText, // timestamp with time zone
};

const TIME = /^(\d+)(-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.(\d+))?\+00( BC)?$/;

/** Converts a time as the server writes it, in UTC, to the form that SQLite's views have: null after the year 9999. */
function timeText(text: string): Cell {
  const [, digits, day, time, fraction = '', isBefore] = TIME.exec(text) ?? [];
  const year = isBefore ? 1 - Number(digits) : Number(digits);
  if (year > 9999) return null;
  const shown = year < 0 ? `-${String(-year).padStart(3, '0')}` : String(year).padStart(4, '0');
  return `${shown}${day}T${time}.${fraction.padEnd(3, '0').slice(0, 3)}Z`;
}

/** Groups answers by slug in the server, for answers that `answersBySlug` leaves to it. */
export type GroupAnswers = (json: string) => Promise<string>;

/**
 * Returns a function that turns a row into one of the relation `leads` or `v_leads`, in place. The row has one more column, whether the lead's text was
 * replaced; `service_question_answers` is JSON as it was received, and `answers` is empty. This is faster than the view, and gives JSON as SQLite does,
 * whereas `jsonb` has an order and spaces of its own.
 */
export function completing(
  columns: readonly Column[],
  groupAnswers: GroupAnswers,
): (row: Cell[]) => Promise<void> {
  const at = (name: string) => columns.findIndex((column) => column.name === name);
  const [inOrder, bySlug] = [at('service_question_answers'), at('answers')];
  return async (row) => {
    const isReplaced = row.pop() === 1n;
    const received = row[inOrder] as string | null;
    const json = received === null ? null : isReplaced ? respelled(received) : withoutSpace(received);
    row[inOrder] = json;
    row[bySlug] = answersBySlug(json) ?? withoutSpace(await groupAnswers(json ?? '[]'));
  };
}

/** A ledger in SQLite has the answers as JavaScript spells them if characters had to be replaced. */
function respelled(json: string): string {
  return JSON.stringify(JSON.parse(json));
}

const SPACE = /[ \t\n\r]/;
/** A string, or space between other parts of JSON. */
const STRING_OR_SPACE = /"[^"\\]*(?:\\.[^"\\]*)*"|[ \t\n\r]+/g;

/** Returns JSON without the space between its parts. */
function withoutSpace(json: string): string {
  if (!SPACE.test(json)) return json;
  return json.replaceAll(STRING_OR_SPACE, (part) => (part.startsWith('"') ? part : ''));
}
