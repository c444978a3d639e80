import { expect, test } from 'vitest';
import { sinkTypes } from '../../src/sinks/registry.ts';
import { faultsOf, SOURCE } from './reading.ts';

const faults = (field: string) =>
  faultsOf(
    `${SOURCE}sinks:\n  m:\n    type: mysql\n    url: mysql://localhost/x\n    fields:\n      ${JSON.stringify(field)}: lead.key\n`,
    {},
    sinkTypes,
  );

test('a field of a mysql sink cannot have the name of a column that leadsync writes, in any case', () => {
  expect(faults('phone')).toEqual([]);
  expect(faults('Client_Name')).toEqual([
    '11:7: sinks.m.fields: `Client_Name` is a column that leadsync writes itself; use another name',
  ]);
  expect(faults('_leadsync_x')).toHaveLength(1);
  expect(faults('DB_TRX_ID')).toEqual([expect.stringContaining('is a column that MySQL keeps for itself')]);
});

test('a field of a mysql sink cannot have a name that MySQL does not allow for a column', () => {
  expect(faults('ä'.repeat(64))).toEqual([]);
  expect(faults('ä'.repeat(65))).toEqual([expect.stringMatching(/is longer than 64 characters/)]);
  expect(faults('𝒜')).toEqual([expect.stringMatching(/a character that MySQL does not allow/)]);
});
