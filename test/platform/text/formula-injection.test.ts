import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { neutraliseCell, restoreCell } from '../../../src/platform/text/formula-injection.ts';

describe('a cell', () => {
  test.each([
    '=1+1',
    '+1+1',
    '-1+1',
    '@SUM(A1)',
    '\t=1',
    '\tplain',
    '\rplain',
    '\nplain',
    ' =1',
    '\n =1',
    '\u00a0=1',
    '\u200b=1',
    '\ufeff=1',
    '\0=1',
    '＝1+1',
    '＋1',
    '－1',
    '＠A1',
    '﹦1',
    '−1',
    '+44 20 7946 0958;=1',
    '+44|cmd',
    '+',
    '-',
    '-1-2',
    '+(A1)',
    '-A1',
    "+44'",
  ])('%j gets an apostrophe', (text) => {
    expect(neutraliseCell(text)).toBe(`'${text}`);
  });

  test.each([
    '',
    'plain',
    'a=1',
    ' plain',
    '1+1',
    '+44 20 7946 0958',
    '+442079460958',
    '+49 (0)151 234-567.89',
    '-5',
    '-5.25',
    '-5,25',
    "'plain",
    "O'Neill",
    "'",
    '[{"slug":"=1"}]',
  ])('%j stays as it is', (text) => {
    expect(neutraliseCell(text)).toBe(text);
  });

  test('of any text can be restored', () => {
    const nasty = fc.string({
      unit: fc.constantFrom("'", '=', '+', '-', '@', ' ', '\t', '\r', '\n', '4', 'a', '＝', '.'),
    });
    fc.assert(
      fc.property(fc.oneof(nasty, fc.string({ unit: 'binary' })), (text) => {
        expect(restoreCell(neutraliseCell(text))).toBe(text);
      }),
      { numRuns: 2_000 },
    );
  });
});
