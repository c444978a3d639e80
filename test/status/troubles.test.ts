import { expect, test } from 'vitest';
import type { PollRow } from '../../src/ledger/contract/shown.ts';
import { troublesOf } from '../../src/status/troubles.ts';

const now = new Date('2026-11-20T10:00:00Z');
const failed: PollRow = {
  poll: 1,
  source: 'broken',
  startedAt: now,
  finishedAt: now,
  status: 'failed',
  listed: 0,
  new: 0,
  changed: 0,
  rejected: 0,
  error: 'server: It answers with an error of its own (500).',
};

test('what is critical is said before what wants a look, wherever it stands in the configuration', () => {
  const status = {
    source: 'broken',
    leads: 0,
    listed: 0,
    rejected: 0,
    listedLately: 0,
    lastPoll: failed,
    lastSuccessAt: undefined,
  };
  const sources = [
    { name: 'new', config: undefined, status: undefined, unread: true },
    { name: 'broken', config: undefined, status, unread: true },
  ];
  const given = {
    now,
    running: true,
    answers: true,
    unready: [],
    stale: undefined,
    queued: false,
    exports: [],
  };
  const troubles = troublesOf(sources, [], { ...given, command: (words) => `leadsync ${words}` });
  expect(troubles.map(({ severity, about }) => `${severity} ${about}`)).toEqual([
    'critical broken',
    'warning new',
  ]);
});
