import { expect, test } from 'vitest';
import { explainFailure } from '../../../src/cli/shell/explain-failure.ts';
import { LedgerError, type LedgerErrorCode } from '../../../src/ledger/contract/ledger-error.ts';

test.each<[LedgerErrorCode, number]>([
  ['away', 69],
  ['standby', 69],
  ['held', 75],
  ['rights', 1],
  ['damaged', 1],
])('a ledger whose error is %s ends a command with exit code %i', (code, exitCode) => {
  const error = new LedgerError(code, 'The ledger failed.', 'Do something.');
  expect(explainFailure(error)).toEqual({ exitCode, message: 'The ledger failed.\nDo something.' });
});

test('an unexpected error is reported without its message', () => {
  const { message, exitCode } = explainFailure(new Error('Ada Lovelace'));
  expect(exitCode).toBe(1);
  expect(message).toContain('Please report it');
  expect(message).not.toContain('Ada');
});
