import { z } from 'zod';

/**
 * A lead as the service's API description specifies it (section 2), checked as far as leadsync relies on it. Every field is required and must have its
 * type; unknown fields are allowed everywhere. `created_at` is the only field whose format is checked here, because leadsync computes times from it.
 * Text that people typed, such as an email address or a phone number, is never a reason to reject a lead. The id is checked separately, digit by
 * digit.
 */
export const leadShape = z.looseObject({
  service_name: text(),
  service_slug: text(),
  created_at: text().refine(isDateTime, 'is not an ISO 8601 date-time'),
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

/** Returns the type of a JSON value in words, without its content. */
export function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  return KINDS[typeof value] ?? 'something else';
}

const KINDS: Partial<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  boolean: 'true or false',
  object: 'an object',
};

function text() {
  return z.string({ error: mustBe('text') });
}

function mustBe(expected: string) {
  return ({ input }: { input?: unknown }) =>
    input === undefined ? 'is missing' : `must be ${expected}, but is ${kindOf(input)}`;
}

const DATE_TIME =
  /^(\d{4})-(\d\d)-(\d\d)[Tt ]([01]\d|2[0-3]):[0-5]\d(:([0-5]\d|60)([.,]\d+)?)?(Z|z|[+-]([01]\d|2[0-3])(:?[0-5]\d)?)?$/;

/**
 * Whether the text is a date with a time of day, such as `2026-11-20T09:59:30Z` or `2026-11-20 09:59+10:30`, on a day that exists. A time without an
 * offset counts as UTC, as in SQLite and most services.
 */
export function isDateTime(value: string): boolean {
  const [, year, month, day] = DATE_TIME.exec(value) ?? [];
  if (year === undefined || month === undefined || day === undefined) return false;
  // Day 0 of the next month is the last day of this month.
  const lastDay = new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate();
  return month >= '01' && month <= '12' && day >= '01' && Number(day) <= lastDay;
}
