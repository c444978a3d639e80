import { z } from 'zod';

/**
 * A lead as the service describes it (description, section 2), checked as far as leadsync relies on it. Every field is
 * required and of its type; fields that the description does not know are let through, everywhere. Of the formats only
 * `created_at` is held to its own, because times are computed from it. What strangers typed (an email address, a phone
 * number) is never a reason to keep a lead from anyone. The id is checked apart from this, digit by digit.
 */
export const leadShape = z.looseObject({
  service_name: text(),
  service_slug: text(),
  created_at: text().refine(isDateTime, 'is no ISO 8601 date-time'),
  client_name: text(),
  client_email: text(),
  client_phone_number: text(),
  client_address: z.nullable(
    z.looseObject({ friendly_address: text() }, { error: mustBe('an object or null') }),
  ),
  service_question_answers: z.array(
    z.looseObject({ question: text(), slug: text(), answer: text() }, { error: mustBe('an object') }),
    { error: mustBe('an array') },
  ),
  all_details_one_liner: text(),
});

/** Says what a JSON value is, without saying what is in it. */
export function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  return KINDS[typeof value] ?? 'something else';
}

const KINDS: Partial<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  boolean: 'true or false',
  object: 'an object',
};

function text() {
  return z.string({ error: mustBe('a text') });
}

function mustBe(expected: string) {
  return ({ input }: { input?: unknown }) =>
    input === undefined ? 'is missing' : `must be ${expected}, and is ${kindOf(input)}`;
}

const DATE_TIME =
  /^(\d{4})-(\d\d)-(\d\d)[Tt ]([01]\d|2[0-3]):[0-5]\d(:([0-5]\d|60)([.,]\d+)?)?(Z|z|[+-]([01]\d|2[0-3])(:?[0-5]\d)?)?$/;

/**
 * True for a date with a time of day, such as `2026-11-20T09:59:30Z` or `2026-11-20 09:59+10:30`, on a day that exists.
 * Without an offset it counts as UTC, as SQLite and most services have it.
 */
export function isDateTime(value: string): boolean {
  const [, year, month, day] = DATE_TIME.exec(value) ?? [];
  if (year === undefined || month === undefined || day === undefined) return false;
  // The 0th day of the next month is the last of this one.
  const lastDay = new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate();
  return month >= '01' && month <= '12' && day >= '01' && Number(day) <= lastDay;
}
