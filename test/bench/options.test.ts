import { expect, test } from 'vitest';
import { readOptions } from '../../bench/options.ts';

test('a full run has every row, three times', () => {
  expect(readOptions([])).toMatchObject({ quick: false, runs: 3, only: undefined });
});

test('a quick run has every row once, unless told otherwise', () => {
  expect(readOptions(['--quick'])).toMatchObject({ quick: true, runs: 1 });
  expect(readOptions(['--quick', '--runs', '2'])).toMatchObject({ runs: 2 });
});

test('rows are picked by their numbers', () => {
  expect(readOptions(['--only', '1,4']).only).toEqual(new Set([1, 4]));
});

test.each([
  ['--only', '21', 'no row 21'],
  ['--only', '0', 'whole number of at least 1'],
  ['--only', 'all', 'whole number of at least 1'],
  ['--runs', '0', 'whole number of at least 1'],
])('%s %s is rejected with the reason', (option, value, reason) => {
  expect(() => readOptions([option, value])).toThrow(reason);
});
