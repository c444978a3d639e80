import { expect, test } from 'vitest';
import { reloadAnswer } from '../../../src/daemon/units/reload-answer.ts';

const request = 'r';

test('a reload that changed something, or will with a restart, was applied; any other changed nothing', () => {
  const applied = {
    applied: true,
    generation: 2,
    changes: ['sink crm changed: timeout'],
    restart: [],
  } as const;
  expect(reloadAnswer(request, applied)).toEqual({
    request,
    result: 'applied',
    lines: ['sink crm changed: timeout'],
  });
  expect(reloadAnswer(request, { ...applied, changes: [], restart: ['ledger.url'] })).toEqual({
    request,
    result: 'applied',
    lines: ['A restart is needed to apply ledger.url.'],
  });
  expect(reloadAnswer(request, { ...applied, changes: [] })).toEqual({
    request,
    result: 'unchanged',
    lines: [],
  });
});

test('a refused reload says why, and its answer is short enough for every beat', () => {
  const refused = { applied: false, generation: 1, faults: [], failure: 'The ledger is locked.' } as const;
  expect(reloadAnswer(request, refused)).toEqual({
    request,
    result: 'refused',
    lines: ['The ledger is locked.'],
  });
  const faults = Array.from({ length: 50 }, () => 'x'.repeat(1_000));
  const { lines } = reloadAnswer(request, { ...refused, faults, failure: null });
  expect(lines.map(({ length }) => length)).toEqual(Array(20).fill(300));
});
