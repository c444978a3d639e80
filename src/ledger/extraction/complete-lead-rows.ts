import type { Column } from '../../catalog/relation.ts';
import type { Cell } from '../contract/ledger-tables.ts';
import { answersBySlug } from '../rules/extraction/answers-by-slug.ts';

/** Start and end of the years 0 to 9999, in ms since 1970. SQLite and JavaScript write other years differently. */
const [FIRST_MS, LAST_MS] = [-62_167_219_200_000n, 253_402_300_799_999n];
/**
 * Turns a row of `leadRows` into a row of the view `leads`, in place. Returns false if the caller must read the row from the view
 * instead.
 */
export type Complete = (row: Cell[]) => boolean;

/**
 * Returns a function that does for a row of `leadRows` what is slow in SQLite: it formats times and groups answers by slug. The completed
 * row is identical to the row of the view `leads`, to the last character.
 */
export function completing(columns: readonly Column[]): Complete {
  const at = (name: string) => columns.findIndex((column) => column.name === name);
  const [inOrder, bySlug] = [at('service_question_answers'), at('answers')];
  const times = columns.flatMap(({ type }, place) => (type === 'time' ? [{ place, text: timeTexts() }] : []));
  return (row) => {
    for (const { place, text } of times) {
      const time = text(row[place] as bigint | null);
      if (time === undefined) return false;
      row[place] = time;
    }
    const answers = answersBySlug(row[inOrder] as string | null);
    row[bySlug] = answers ?? null;
    return answers !== undefined;
  };
}

/** Returns a function that formats times and caches the last time, because consecutive rows often have the same time. */
function timeTexts(): (ms: bigint | null) => string | null | undefined {
  let last: bigint | undefined;
  let text: string | undefined;
  return (ms) => {
    if (ms === null) return null;
    if (ms !== last) {
      last = ms;
      text = timeText(ms);
    }
    return text;
  };
}

function timeText(ms: bigint): string | undefined {
  return ms < FIRST_MS || ms > LAST_MS ? undefined : new Date(Number(ms)).toISOString();
}
