import { expect, it } from 'vitest';
import { ledgerReport } from '../../src/operations/erasure/erasure-report.ts';

it('a certificate does not say that a server has overwritten what was erased', () => {
  const { what, ...report } = ledgerReport(0, 'left-to-server');
  expect(report).toEqual({ reached: true, again: false });
  expect(what).toMatch(/storage, log and backups may contain/);
  expect(what).not.toContain('overwritten');
  expect(ledgerReport(0, true).what).toContain('Erased and overwritten');
  expect(ledgerReport(0, false)).toMatchObject({ reached: false, again: true });
});
