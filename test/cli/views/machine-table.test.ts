import { expect, test } from 'vitest';
import { machineTable } from '../../../src/cli/views/machine-table.ts';
import { aProcess, theMachines } from '../../status/a-machine.ts';
import { ago, NOW } from '../../status/an-observation.ts';

test('each process has a line with its role, state, version, configuration and work', () => {
  const missing = aProcess({
    machine: 'c-3\u001b[31m',
    role: 'worker',
    isMissing: true,
    seenAt: ago(90_000),
    facts: undefined,
  });
  const text = machineTable(theMachines({ processes: [...theMachines().processes, missing] }), NOW);
  expect(text.split('\n').map((line) => line.replace(/ {2,}/g, ' | '))).toEqual([
    'MACHINE | ROLE | STATE | VERSION | CONFIG | STARTED | LAST SEEN | WORK',
    'a-1 | run | works | 1.2.3 | 0123456789ab | 2026-11-20T09:00:00Z (60 min ago) | 0 s ago | alerts, exports, polls of main',
    'b-2 | run | works | 1.2.3 | 0123456789ab | 2026-11-20T09:00:00Z (60 min ago) | 0 s ago | dispatch to crm, upkeep',
    String.raw`c-3\u001b[31m | worker | missing | - | - | 2026-11-20T09:00:00Z (60 min ago) | 90 s ago | -`,
    '',
    '',
  ]);
  expect(text).not.toContain('\u001b');
});

test('a ledger that only one machine can use has no such table', () => {
  expect(machineTable(undefined, NOW)).toBe('');
});
