import { type Locale, locales, type Question, serviceCategories } from './phrases.ts';

/** The inputs that determine every byte of a generated lead. */
export interface Recipe {
  readonly seed: number;
  readonly id: number;
  /** The version, counted from 1. Every version has a different text. */
  readonly version: number;
  /** If undefined, a past time derived from the id. */
  readonly createdAt?: Date | undefined;
}

/** An answer, escaped for JSON: as an item of `service_question_answers` and as its lines of the summary. */
interface Fragment {
  readonly item: string;
  readonly lines: string;
}

const FIRST_LEAD_AT = Date.UTC(2026, 0, 5, 8, 0, 0);
const MAIL_DOMAINS = ['example.com', 'example.net', 'example.org', 'mail.example'];

/** The fields that all leads of a category share, escaped. */
const categoryFields = serviceCategories.map(
  ({ name, slug }) => `"service_name":"${escaped(name)}","service_slug":"${slug}",`,
);
const places = locales.map((locale) => locale.places.map(escaped));

/** `[category][locale][question]` → the possible answers of such a client. */
const fragments: readonly (readonly (readonly (readonly Fragment[])[])[])[] = serviceCategories.map(
  (category) => locales.map((locale) => category.questions.map((question) => answersTo(question, locale))),
);

/**
 * Returns the JSON text of a generated lead: about 0.9 KB, deterministic. Joins prepared fragments without parsing, so that the stub serves
 * a million leads faster than any reader reads them.
 */
export function leadText({ seed, id, version, createdAt }: Recipe): string {
  const pick = picker(seed, id);
  const categoryIndex = pick(serviceCategories.length);
  const localeIndex = pick(locales.length);
  const locale = at(locales, localeIndex);
  const given = at(locale.given, pick(locale.given.length));
  const family = at(locale.family, pick(locale.family.length));
  const name = locale.familyFirst ? family[0] + given[0] : `${given[0]} ${family[0]}`;
  const email = `${given[1]}.${family[1]}${pick(90) + 10}@${at(MAIL_DOMAINS, pick(MAIL_DOMAINS.length))}`;
  const address = pick(8) === 0 ? undefined : at(at(places, localeIndex), pick(locale.places.length));
  let items = '';
  let lines = '';
  for (const answers of at(at(fragments, categoryIndex), localeIndex)) {
    const fragment = at(answers, pick(answers.length));
    items += items === '' ? fragment.item : `,${fragment.item}`;
    lines += fragment.lines;
  }
  if (version > 1) {
    const change = fragmentOf('What has changed?', 'change', `Changed ${version - 1}×`);
    items += `,${change.item}`;
    lines += change.lines;
  }
  return (
    `{"id":${id},${at(categoryFields, categoryIndex)}` +
    `"created_at":"${createdAtText(id, createdAt)}","client_name":"${name}","client_email":"${email}",` +
    `"client_phone_number":"${phoneNumber(locale, pick)}",` +
    `"client_address":${address === undefined ? 'null' : `{"friendly_address":"${address}"}`},` +
    `"service_question_answers":[${items}],` +
    `"all_details_one_liner":"${lines}--\\nAddress: ${address ?? ''}\\n"}`
  );
}

/** Returns the same lead as an object: what a reader of the listing should find. */
export function leadAt(seed: number, id: number, version = 1): Record<string, unknown> {
  return JSON.parse(leadText({ seed, id, version })) as Record<string, unknown>;
}

function answersTo(question: Question, locale: Locale): readonly Fragment[] {
  const answers = question.answers ?? locale.remarks;
  return answers.map((answer) => fragmentOf(question.question, question.slug, answer));
}

function fragmentOf(question: string, slug: string, answer: string): Fragment {
  return { item: JSON.stringify({ question, slug, answer }), lines: escaped(`${question}\n${answer}\n`) };
}

function createdAtText(id: number, createdAt: Date | undefined): string {
  // About one lead a minute, and never the same second for neighbouring ids.
  const time = createdAt ?? new Date(FIRST_LEAD_AT + (id % 20_000_000) * 1_000 * 59 + ((id * 7_919) % 1_000));
  return time.toISOString();
}

function phoneNumber(locale: Locale, pick: (choices: number) => number): string {
  return locale.phone.prefix + (10 ** (locale.phone.digits - 1) + pick(9 * 10 ** (locale.phone.digits - 1)));
}

function escaped(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/**
 * Returns a generator of numbers from 0 up to, but not including, its argument. The same seed and id produce the same sequence
 * (mulberry32).
 */
function picker(seed: number, id: number): (choices: number) => number {
  let state = (Math.imul(seed, 0x9e3779b1) ^ Math.imul(id, 0x85ebca6b) ^ Math.floor(id / 2 ** 32)) | 0;
  return (choices) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * choices);
  };
}

function at<T>(list: readonly T[], index: number): T {
  const found = list[index];
  if (found === undefined) throw new RangeError(`no entry ${index}`);
  return found;
}
