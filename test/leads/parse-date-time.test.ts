import { describe, expect, it } from 'vitest';
import { parseDateTime } from '../../src/leads/parse-date-time.ts';
import { isDateTime } from '../../src/source/listing/lead-shape.ts';

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
    expect(new Date(parseDateTime(text) ?? Number.NaN).toISOString()).toBe(utc);
  });

  it.each(['', 'yesterday', '2026-11-20', '2026-11-20T10', '2026-11-20T10:00:00Zulu'])(
    'is not: %j',
    (text) => {
      expect(parseDateTime(text)).toBeNull();
    },
  );
});
