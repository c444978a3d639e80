import { expect, test } from 'vitest';
import { sinkTypes } from '../../src/sinks/registry.ts';
import { faultsOf, SOURCE } from './reading.ts';

const faults = (field: string) =>
  faultsOf(
    `${SOURCE}sinks:\n  p:\n    type: postgres\n    url: postgresql://localhost/x\n    fields:\n      ${field}: lead.key\n`,
    {},
    sinkTypes,
  );

test('a field of a postgres sink cannot have the name of a column that leadsync writes', () => {
  expect(faults('phone')).toEqual([]);
  expect(faults('Client_Name')).toEqual([]);
  expect(faults('client_name')).toEqual([
    '11:7: sinks.p.fields: `client_name` is a column that leadsync writes itself; use another name',
  ]);
  expect(faults('_leadsync_x')).toHaveLength(1);
  expect(faults('xmin')).toEqual([expect.stringContaining('is a column that PostgreSQL keeps for itself')]);
});

test('a field of a postgres sink cannot have a longer name than PostgreSQL keeps', () => {
  expect(faults('a'.repeat(63))).toEqual([]);
  expect(faults('a'.repeat(64))).toEqual([expect.stringMatching(/is longer than 63 bytes/)]);
  expect(faults('ä'.repeat(32))).toEqual([expect.stringMatching(/is longer than 63 bytes/)]);
});
