import { describe, expect, it } from 'vitest';
import { factsOf, readTime, safeRaw } from '../../src/leads/content-facts.ts';
import { isDateTime } from '../../src/source/listing/lead-shape.ts';
import { aLead } from '../support/scene/a-lead.ts';

describe('a time', () => {
  it.each([
    ['2026-11-20T10:00:00Z', '2026-11-20T10:00:00.000Z'],
    ['2026-11-20T10:00:00,25+02:00', '2026-11-20T08:00:00.250Z'],
    ['2026-11-20t10:00z', '2026-11-20T10:00:00.000Z'],
    ['2026-11-20 10:00', '2026-11-20T10:00:00.000Z'],
    ['2026-11-20T10:00:00+1030', '2026-11-19T23:30:00.000Z'],
    ['2026-11-20T10:00:00-03', '2026-11-20T13:00:00.000Z'],
    ['2026-11-20T23:59:60-05', '2026-11-21T05:00:00.000Z'],
    ['2026-11-20T23:59:59.9996Z', '2026-11-20T23:59:59.999Z'],
    ['2026-11-20T23:59:59.9999999Z', '2026-11-21T00:00:00.000Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
    ['1969-12-31T23:59:59.5Z', '1969-12-31T23:59:59.500Z'],
  ])('%s is %s', (text, utc) => {
    expect(isDateTime(text)).toBe(true);
    expect(new Date(readTime(text) ?? Number.NaN).toISOString()).toBe(utc);
  });

  it.each(['', 'yesterday', '2026-11-20', '2026-11-20T10', '2026-11-20T10:00:00Zulu'])(
    'is not: %j',
    (text) => {
      expect(readTime(text)).toBeNull();
    },
  );
});

describe('what is kept beside a lead', () => {
  it('is its category and when it was created', () => {
    const raw = aLead({ service_slug: 'gardening', created_at: '2026-11-20T10:00:00+01:00' });
    const createdAtMs = Date.parse('2026-11-20T09:00:00Z');
    expect(factsOf(raw)).toEqual({ serviceSlug: 'gardening', createdAtMs, readable: null, safeRaw: null });
  });

  it('is nothing where the text says nothing', () => {
    expect(factsOf('{"id":1,"service_slug":7}')).toEqual({
      serviceSlug: null,
      createdAtMs: null,
      readable: null,
      safeRaw: null,
    });
  });

  it('is the text without what no database holds, only where there is such a thing', () => {
    const answer = { question: 'q', slug: 's', answer: 'x\0y' };
    const { readable } = factsOf(
      aLead({ client_name: 'a\0b\ud800', service_question_answers: [answer], other: 'z\0' }),
    );
    expect(JSON.parse(readable ?? '')).toMatchObject({
      client_name: 'a\ufffdb\ufffd',
      service_question_answers: [{ ...answer, answer: 'x\ufffdy' }],
    });
    expect(readable).not.toContain('other');
    expect(
      factsOf(aLead({ client_name: 'a\\u0000b', other: 'z\0', pair: '\ud83d\ude00' })).readable,
    ).toBeNull();
  });
});

describe('the JSON text for databases', () => {
  it.each([
    [String.raw`{"a":"\u0000\u0000"}`, String.raw`{"a":"\ufffd\ufffd"}`],
    [String.raw`{"a\u0000":1.50}`, String.raw`{"a\ufffd":1.50}`],
    [String.raw`{"a":"\ud83d\ude00\ud83d\uDE00"}`, null],
    [String.raw`{"a":"\uD83D\ud83d\ude00\ude00"}`, String.raw`{"a":"\ufffd\ud83d\ude00\ufffd"}`],
    [String.raw`{"a":"\\u0000\\\\ud800"}`, null],
    [String.raw`{"a":"\\\u0000\"\n\ud800x"}`, String.raw`{"a":"\\\ufffd\"\n\ufffdx"}`],
    [String.raw`{"a":"\u0041 \ufffd"}`, null],
  ])('%s is kept as %s', (raw, safe) => {
    expect(safeRaw(raw)).toBe(safe);
    expect(JSON.parse(safe ?? raw)).toEqual(JSON.parse(raw, wellFormed));
  });

  it('is made of ten megabytes of NUL, or of quotes, as well', () => {
    const size = 1_700_000;
    expect(safeRaw(`"${'\\u0000'.repeat(size)}"`)).toBe(`"${'\\ufffd'.repeat(size)}"`);
    expect(safeRaw(`"${'\\"'.repeat(size)}\\ud800"`)).toBe(`"${'\\"'.repeat(size)}\\ufffd"`);
  });
});

function wellFormed(_key: string, value: unknown): unknown {
  if (typeof value === 'string') return value.replaceAll('\0', '\ufffd').toWellFormed();
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [wellFormed('', key), one]));
}
