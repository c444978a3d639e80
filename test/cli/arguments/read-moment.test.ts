import { describe, expect, test } from 'vitest';
import { table } from '../../../src/cli/shell/table.ts';
import { printAge } from '../../../src/platform/text/human-readable.ts';
import { momentOf } from '../../../src/platform/time/parse-moment.ts';

const now = new Date('2026-11-20T10:00:00.000Z');

describe('a moment', () => {
  test.each([
    ['2026-11-20', '2026-11-20T00:00:00.000Z'],
    ['2026-11-20T09:30', '2026-11-20T09:30:00.000Z'],
    ['2026-11-20 09:30:15', '2026-11-20T09:30:15.000Z'],
    ['2026-11-20T09:30:15.5Z', '2026-11-20T09:30:15.500Z'],
    ['2026-11-20T09:30+11:00', '2026-11-19T22:30:00.000Z'],
    ['2026-11-20T09:30-0330', '2026-11-20T13:00:00.000Z'],
    ['2h', '2026-11-20T08:00:00.000Z'],
    ['1.5h', '2026-11-20T08:30:00.000Z'],
    ['1d', '2026-11-19T10:00:00.000Z'],
    ['90 M', '2026-11-20T08:30:00.000Z'],
    ['1w', '2026-11-13T10:00:00.000Z'],
    ['1900-01-01', '1900-01-01T00:00:00.000Z'],
  ])('%s is %s', (text, at) => {
    expect(momentOf(text, now)?.toISOString()).toBe(at);
  });

  test.each([
    '',
    'now',
    '2',
    '-2h',
    '2026-13-01',
    '2026-02-29',
    '2026-11-20T25:00',
    '20/11/2026',
    '2026-11-20T09',
    '99999999999999d',
    '999999w',
    '2026-11-20T09:30 02:00',
  ])('%j is rejected', (text) => {
    expect(momentOf(text, now)).toBeUndefined();
  });

  test.each([
    [0, '0 s ago'],
    [119_999, '119 s ago'],
    [120_000, '2 min ago'],
    [7_199_999, '119 min ago'],
    [7_200_000, '2 h ago'],
    [172_800_000, '2 days ago'],
    [-90_000, 'in 90 s'],
  ])('%i ms ago is shown as %j', (ms, text) => {
    expect(printAge(new Date(now.getTime() - ms), now)).toBe(text);
  });
});

describe('a table', () => {
  test('aligns its columns, numbers at the right, and leaves no space at the ends of lines', () => {
    const columns = [{ head: 'SINK' }, { head: 'DEAD', align: 'right' }, { head: 'WHY' }] as const;
    expect(
      table(columns, [
        ['crm', '1,204', 'no'],
        ['warehouse', '2', ''],
      ]),
    ).toBe(['SINK        DEAD  WHY', 'crm        1,204  no', 'warehouse      2', ''].join('\n'));
  });
});
