import type { LeadAnswer } from '../../../leads/lead.ts';

/**
 * Maximum length of a lead's answers that are grouped here, in UTF-16 units. The database groups longer answers, which would be in memory
 * several times here.
 */
const LONGEST = 64 * 1024;
/** Code units that are sorted differently in UTF-16 than in UTF-8. */
const BEYOND_ORDER = /[\ud800-\uffff]/;

/**
 * Returns the answers of a lead grouped by slug, as JSON. `json` is null if the lead has no answers. Returns undefined if only the database
 * can group them.
 */
export function answersBySlug(json: string | null): string | undefined {
  if (json === null || json === '[]') return '{}';
  if (json.length > LONGEST) return undefined;
  try {
    const answers: unknown = JSON.parse(json);
    return arePlain(answers) && hasAllOf(json, answers) ? grouped(answers) : undefined;
  } catch {
    return undefined; // the database reports the fault, whereas this error would repeat the client's text
  }
}

/**
 * Whether the JSON has no duplicate members, of which `JSON.parse` and a database may keep different values. If it has any, fewer strings
 * are left after parsing.
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
