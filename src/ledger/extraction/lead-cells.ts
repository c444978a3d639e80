import type { Column } from '../../catalog/relation.ts';
import type { LeadAnswer } from '../../leads/lead.ts';
import type { Cell } from '../contract/ledger-tables.ts';

/** Start and end of the years 0 to 9999, in ms since 1970. SQLite and JavaScript write other years differently. */
const [FIRST_MS, LAST_MS] = [-62_167_219_200_000n, 253_402_300_799_999n];
/**
 * Maximum length of a lead's answers that are grouped here, in UTF-16 units. SQLite groups longer answers, which would be in memory several
 * times here.
 */
const LONGEST = 64 * 1024;
/** Code units that are sorted differently in UTF-16 than in UTF-8. */
const BEYOND_ORDER = /[\ud800-\uffff]/;

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

/**
 * Returns the answers grouped by slug, as JSON. `json` is null if the lead has no answers. Returns undefined if only the view can group
 * them.
 */
function answersBySlug(json: string | null): string | undefined {
  if (json === null || json === '[]') return '{}';
  if (json.length > LONGEST) return undefined;
  try {
    const answers: unknown = JSON.parse(json);
    return arePlain(answers) && hasAllOf(json, answers) ? grouped(answers) : undefined;
  } catch {
    return undefined; // the view reports the fault, whereas this error would repeat the client's text
  }
}

/**
 * Whether the JSON has no duplicate members, for which `JSON.parse` and SQLite keep different values. If it has any, fewer strings are left
 * after parsing.
 */
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

/**
 * Returns the answers as a JSON object in the order of their slugs. If a slug repeats, its answers are an array. Builds the JSON directly,
 * because a JavaScript object would put a slug such as `2` first.
 */
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
