import { expect, test } from 'vitest';
import { failureReasonsOf, readOfSink } from '../../src/ledger/rules/queries/failure-reasons.ts';

const dead = (sink: string, ...rows: readonly (readonly [reason: string, deliveries: number])[]) => {
  const all = rows.reduce((sum, [, deliveries]) => sum + deliveries, 0);
  return {
    sink,
    state: 'dead' as const,
    rows: rows.map(([reason, deliveries]) => ({ reason, deliveries, all })),
  };
};

test('the same reason of several sinks is one group, with the sinks that have the most deliveries first', () => {
  const { reasons } = failureReasonsOf([dead('crm', ['no', 2], ['odd', 1]), dead('drop', ['no', 5])], 100);
  expect(reasons).toEqual([
    {
      state: 'dead',
      reason: 'no',
      deliveries: 7,
      sinks: [
        { sink: 'drop', deliveries: 5 },
        { sink: 'crm', deliveries: 2 },
      ],
    },
    { state: 'dead', reason: 'odd', deliveries: 1, sinks: [{ sink: 'crm', deliveries: 1 }] },
  ]);
});

test('it says how many deliveries have reasons that are not listed, and whether all were read', () => {
  const many = Array.from({ length: 130 }, (_, n) => [`reason ${n}`, 1] as const);
  expect(failureReasonsOf([dead('crm', ...many)], 131)).toMatchObject({ others: 30, isComplete: true });
  expect(failureReasonsOf([dead('crm', ...many)], 130)).toMatchObject({ others: 30, isComplete: false });
});

test('many sinks share the deliveries that are read', () => {
  expect([0, 1, 4, 5, 100].map(readOfSink)).toEqual([5_000, 5_000, 5_000, 4_000, 200]);
});
