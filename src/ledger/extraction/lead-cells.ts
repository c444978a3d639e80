import type { Column } from '../../catalog/relation.ts';
import type { LeadAnswer } from '../../leads/lead.ts';
import type { Cell } from './run-sql.ts';

/** The years 0 to 9999, in ms since 1970: what else there is SQLite writes otherwise than JavaScript, or not at all. */
const [FIRST_MS, LAST_MS] = [-62_167_219_200_000n, 253_402_300_799_999n];
/** Of longer answers, in UTF-16 units, SQLite makes all: here they would be in memory several times. */
const LONGEST = 64 * 1024;
/** Behind these the order of UTF-16 units is not that of the bytes of UTF-8. */
const BEYOND_ORDER = /[\ud800-\uffff]/;

/** Makes a row of `leadRows` one of the view. False where only the view can tell what is to be in it. */
export type Complete = (row: Cell[]) => boolean;

/**
 * Does for rows of `leadRows` what takes SQLite the most time: writes times, and orders the answers by their slugs. What comes of it
 * is what the view `leads` has, to the last character.
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

/** Many a row has the time of the row before. */
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

/** `json` is null where the lead has no answers. Undefined: the view is to make them. */
function answersBySlug(json: string | null): string | undefined {
  if (json === null || json === '[]') return '{}';
  if (json.length > LONGEST) return undefined;
  try {
    const answers: unknown = JSON.parse(json);
    return arePlain(answers) && hasAllOf(json, answers) ? grouped(answers) : undefined;
  } catch {
    return undefined; // the view tells then; this error would repeat what the client wrote
  }
}

/** Of a member that is there twice JSON.parse takes the last one and SQLite the first: then there are more texts than were parsed. */
function hasAllOf(json: string, parsed: unknown): boolean {
  const again = JSON.stringify(parsed);
  return again === json || textsIn(again) === textsIn(json);
}

function textsIn(json: string): number {
  return json.replaceAll(/\\./g, '').split('"').length;
}

function arePlain(answers: unknown): answers is readonly LeadAnswer[] {
  const isPlain = (one: Partial<LeadAnswer> | null) =>
    typeof one?.slug === 'string' && typeof one.answer === 'string' && !BEYOND_ORDER.test(one.slug);
  return Array.isArray(answers) && answers.every(isPlain);
}

/** In the order of the slugs, with an array where one repeats. As JSON from the start: an object would put slugs like `2` first. */
function grouped(answers: readonly LeadAnswer[]): string {
  const found = new Map<string, string | string[]>();
  for (const { slug, answer } of answers) {
    const known = found.get(slug);
    if (Array.isArray(known)) known.push(answer);
    else found.set(slug, known === undefined ? answer : [known, answer]);
  }
  const members = [...found.keys()]
    .sort()
    .map((slug) => `${JSON.stringify(slug)}:${JSON.stringify(found.get(slug))}`);
  return `{${members.join(',')}}`;
}
