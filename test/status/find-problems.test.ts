import { expect, test } from 'vitest';
import { HEALTHY } from '../../src/leads/sink-health.ts';
import type { PollRow } from '../../src/ledger/contract/status-rows.ts';
import { evaluateConditions } from '../../src/status/alert-conditions.ts';
import { findProblems } from '../../src/status/find-problems.ts';
import { commandInText } from '../../src/status/problem.ts';
import { anObservation, aSink, aSource, DEFAULTS, NAMES, NOW } from './an-observation.ts';

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
  const problems = findProblems(sources, [], { ...given, command: (words) => `leadsync ${words}` });
  expect(problems.map(({ severity, about }) => `${severity} ${about}`)).toEqual([
    'critical broken',
    'warning new',
  ]);
});

test('an alert says what the status says, but for how long ago it was', () => {
  const stale = { since: now, faults: ['leadsync.yaml:3:1: unknown option'] };
  const health = { ...HEALTHY, pausedSince: now, pausedReason: 'moving house' };
  const sink = aSink({ health, pending: 3, dead: 2, lastDeadAt: NOW });
  const listing = { lastSuccessAt: now, listed: 0, listedLately: 60, leads: 80 };
  const alerts = evaluateConditions(
    anObservation({ sources: [aSource({ listing })], sinks: [sink], stale }),
    NAMES,
    DEFAULTS,
  ).flatMap(({ condition, state }) =>
    typeof state === 'string' ? [] : [`${condition} ${state.what} ${state.next}`],
  );
  const source = { ...listing, source: 'main', rejected: 0 };
  const lastPoll = { ...failed, status: 'success', error: undefined } as const;
  const status = {
    ...sink,
    sink: 'crm',
    active: true,
    delivered: 0,
    skipped: 0,
    leftOut: 0,
    retrying: undefined,
    replays: 0,
    dueSince: undefined,
  };
  const problems = findProblems(
    [{ name: 'main', config: undefined, status: { ...source, lastPoll }, unread: true }],
    [{ name: 'crm', state: 'paused', config: undefined, status }],
    {
      now,
      running: true,
      answers: true,
      unready: [],
      stale,
      queued: false,
      exports: [],
      command: commandInText,
    },
  ).map(({ code, message, nextStep }) =>
    `${code} ${message} ${nextStep}`.replace(/ since \S+ \(0 s ago\)/, ''),
  );
  expect(problems.toSorted()).toEqual(alerts.toSorted());
  expect(problems).toHaveLength(4);
});
