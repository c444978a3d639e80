import { describe, expect, test } from 'vitest';
import type { ActiveCondition } from '../../../src/alerts/alert-tracker.ts';
import { CONDITIONS, type Condition } from '../../../src/alerts/condition.ts';
import { HEALTHY } from '../../../src/leads/sink-health.ts';
import type { MachinesStatus } from '../../../src/ledger/contract/status-rows.ts';
import { evaluateConditions } from '../../../src/status/problems/alert-conditions.ts';
import type { AlertInputs } from '../../../src/status/problems/alert-inputs.ts';
import { rejectedLeads } from '../../../src/status/problems/poll-checks.ts';
import { commandInText } from '../../../src/status/problems/problem.ts';
import { heldSink } from '../../../src/status/problems/sink-checks.ts';
import { aProcess, theMachines } from '../a-machine.ts';
import {
  aBackup,
  ago,
  anExport,
  anObservation,
  aSink,
  aSource,
  DEFAULTS,
  MADE,
  NAMES,
  NOW,
} from '../an-observation.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

function wrongs(observed: AlertInputs, limits = DEFAULTS): Map<Condition, ActiveCondition> {
  return new Map(
    evaluateConditions(observed, NAMES, limits).flatMap(({ condition, state }) =>
      typeof state === 'string' ? [] : [[condition, state] as const],
    ),
  );
}

const failure = {
  code: 'credentials',
  reason: 'It answered 401.',
  hint: 'Correct client_secret.',
  isPartial: false,
};
const silence = { since: ago(5 * HOUR), until: ago(MINUTE), probability: 0.0001 };

/** An observation of a ledger on which two machines work, but for what is given. */
function withMachines(more: Partial<MachinesStatus>): AlertInputs {
  return anObservation({ machines: { status: theMachines(more), now: NOW } });
}

const cases: [Condition, AlertInputs, since: Date | undefined, afterMs: number][] = [
  [
    'no_poll',
    anObservation({ sources: [aSource({ overdueSince: ago(20 * MINUTE) })] }),
    undefined,
    15 * MINUTE,
  ],
  ['source_refused', anObservation({ sources: [aSource({ failure })] }), undefined, 2 * MINUTE],
  ['source_silent', anObservation({ sources: [aSource({ silence })] }), ago(5 * HOUR), 0],
  [
    'listing_shrunk',
    anObservation({
      sources: [aSource({ listing: { lastSuccessAt: NOW, listed: 29, listedLately: 60, leads: 80 } })],
    }),
    undefined,
    30 * MINUTE,
  ],
  ['leads_rejected', anObservation({ sources: [aSource({ rejected: 90 })] }), undefined, 30 * MINUTE],
  [
    'sink_held',
    anObservation({
      sinks: [aSink({ health: { ...HEALTHY, heldSince: ago(HOUR), heldReason: 'It answered 503.' } })],
    }),
    ago(HOUR),
    30 * MINUTE,
  ],
  [
    'sink_paused',
    anObservation({ sinks: [aSink({ health: { ...HEALTHY, pausedSince: ago(HOUR) } })] }),
    ago(HOUR),
    4 * HOUR,
  ],
  [
    'deliveries_dead',
    anObservation({ sinks: [aSink({ dead: 2, lastDeadAt: ago(MINUTE) })] }),
    undefined,
    MINUTE,
  ],
  [
    'backlog_old',
    anObservation({ sinks: [aSink({ pending: 3, oldestOwedAt: ago(2 * HOUR), batchWaitMs: MINUTE })] }),
    undefined,
    5 * MINUTE,
  ],
  [
    'slow_to_lead',
    anObservation({ sinks: [aSink({ recentMs: [1, 2, 6 * MINUTE, 6 * MINUTE, 6 * MINUTE] })] }),
    undefined,
    5 * MINUTE,
  ],
  [
    'config_stale',
    anObservation({ stale: { since: ago(HOUR), faults: ['leadsync.yaml:1:1: x'] } }),
    ago(HOUR),
    5 * MINUTE,
  ],
  [
    'disk_low',
    anObservation({ disk: { freeBytes: 499_999_999, minFreeBytes: 500_000_000 } }),
    undefined,
    5 * MINUTE,
  ],
  [
    'duty_free',
    withMachines({ free: [{ duty: 'poll:main', since: ago(MINUTE), isWanted: true }] }),
    undefined,
    2 * MINUTE,
  ],
  [
    'process_missing',
    withMachines({ processes: [aProcess(), aProcess({ machine: 'b-2', isMissing: true })] }),
    undefined,
    MINUTE,
  ],
  [
    'config_differs',
    withMachines({
      processes: [
        aProcess(),
        aProcess({ facts: { version: '1.2.3', config: 'x', clockAheadMs: 0, reload: undefined } }),
      ],
    }),
    undefined,
    5 * MINUTE,
  ],
  [
    'clock_differs',
    withMachines({
      processes: [
        aProcess({ facts: { version: '1', config: 'x', clockAheadMs: 31_000, reload: undefined } }),
      ],
    }),
    undefined,
    5 * MINUTE,
  ],
  ['carrier_down', anObservation({ carrier: 'Redis does not answer.' }), undefined, 2 * MINUTE],
  [
    'ledger_fails',
    anObservation({ ledger: { reason: 'The disk is full.', hint: 'Make room.' } }),
    undefined,
    MINUTE,
  ],
  [
    'export_fails',
    anObservation({
      exports: [
        anExport({
          failed: { at: NOW, message: 'The disk is full.', hint: 'Make room.', times: 3, retryAt: NOW },
        }),
      ],
    }),
    undefined,
    30 * MINUTE,
  ],
  [
    'backup_fails',
    anObservation({ exports: [anExport(), aBackup({ overdueSince: ago(2 * HOUR) })] }),
    undefined,
    30 * MINUTE,
  ],
];

describe('judging', () => {
  test('a problem of the machines is unknown while the ledger cannot be read, so that its alert does not end', () => {
    const away = anObservation({ sources: undefined, sinks: undefined });
    const states = evaluateConditions(away, NAMES, DEFAULTS).map(({ condition, state }) => [
      condition,
      state,
    ]);
    for (const condition of ['duty_free', 'process_missing', 'config_differs', 'clock_differs'])
      expect(states).toContainEqual([condition, 'unknown']);
  });

  test('a healthy leadsync has no problem', () => {
    expect([...wrongs(anObservation()).keys()]).toEqual([]);
  });

  test.each(cases)(
    '%s is the only problem found, with its beginning and its next step',
    (condition, observed, since, afterMs) => {
      const found = wrongs(observed);
      expect([...found.keys()]).toEqual([condition]);
      expect(found.get(condition)).toMatchObject({ since, afterMs });
      expect(found.get(condition)?.what).toMatch(/\S( x|\.)$/);
      expect(found.get(condition)?.next).toMatch(/\S\.$/);
    },
  );

  test('every condition has a case here', () => {
    expect(cases.map(([condition]) => condition).toSorted()).toEqual(CONDITIONS.toSorted());
  });

  test.each(cases)('%s is not evaluated if it is switched off', (condition, observed) => {
    const limits = { ...DEFAULTS, [condition]: undefined };
    expect(evaluateConditions(observed, NAMES, limits).map((one) => one.condition)).not.toContain(condition);
  });

  test.each<[string, AlertInputs]>([
    [
      'a silence that is plausible',
      anObservation({ sources: [aSource({ silence: { ...silence, probability: 0.01 } })] }),
    ],
    [
      'a silence shorter than the minimum',
      anObservation({ sources: [aSource({ silence: { ...silence, since: ago(30 * MINUTE) } })] }),
    ],
    [
      'a failure that waiting mends',
      anObservation({ sources: [aSource({ failure: { ...failure, code: 'server' } })] }),
    ],
    ['leads that died a day ago', anObservation({ sinks: [aSink({ dead: 2, lastDeadAt: ago(24 * HOUR) })] })],
    ['two slow leads', anObservation({ sinks: [aSink({ recentMs: [1, 6 * MINUTE, 6 * MINUTE] })] })],
    [
      'three slow leads among a hundred',
      anObservation({ sinks: [aSink({ recentMs: [...Array(97).fill(1), ...Array(3).fill(6 * MINUTE)] })] }),
    ],
    [
      'a backlog as old as its batch waits, and the limit',
      anObservation({ sinks: [aSink({ pending: 3, oldestOwedAt: ago(2 * HOUR), batchWaitMs: HOUR })] }),
    ],
    [
      'leads as slow as their batch waits',
      anObservation({ sinks: [aSink({ batchWaitMs: 5 * MINUTE, recentMs: Array(9).fill(6 * MINUTE) })] }),
    ],
  ])('%s causes no alert', (_, observed) => {
    expect([...wrongs(observed).keys()]).toEqual([]);
  });

  test.each([
    [1, MADE, 'Export nightly failed, and the last success was 2026-11-20 09:00 UTC: No room.'],
    [7, undefined, 'Export nightly failed 7 times in a row, and it has never succeeded: No room.'],
  ])('the alert for an export that failed %i times has the time of the last success', (times, done, what) => {
    const failed = { at: NOW, message: 'No room.', hint: 'Make room.', retryAt: NOW, times };
    const found = wrongs(anObservation({ exports: [anExport({ done, failed })] }));
    expect(found.get('export_fails')).toMatchObject({
      what,
      next: expect.stringContaining('--name nightly'),
    });
  });

  test('the end of an alert on dead deliveries says what becomes of those that are still dead', () => {
    const observed = anObservation({ sinks: [aSink({ dead: 2, lastDeadAt: ago(2 * HOUR) })] });
    const all = evaluateConditions(observed, NAMES, DEFAULTS);
    const dead = all.find(({ condition }) => condition === 'deliveries_dead');
    expect(dead?.state).toBe('well');
    expect(dead?.over).toContain('stay dead until `leadsync retry` or `leadsync discard`');
  });

  test('the alert for a backup that failed calls it a backup', () => {
    const failed = { at: NOW, message: 'No room.', hint: 'Make room.', retryAt: NOW, times: 2 };
    const found = wrongs(anObservation({ exports: [aBackup({ failed })] }));
    expect([...found.keys()]).toEqual(['backup_fails']);
    expect(found.get('backup_fails')).toMatchObject({
      what: 'Backup daily failed 2 times in a row, and the last success was 2026-11-20 09:00 UTC: No room.',
      next: expect.stringContaining('`leadsync backup daily` runs it now.'),
    });
  });

  test('there is an alert for an export even if the ledger cannot be read', () => {
    const failed = { at: NOW, message: 'No room.', hint: 'Make room.', retryAt: NOW, times: 1 };
    const unread = { sources: undefined, sinks: undefined };
    expect([...wrongs(anObservation({ ...unread, exports: [anExport({ failed })] })).keys()]).toEqual([
      'export_fails',
    ]);
  });

  test('a sink that is held has one alert, although its backlog is old and its leads are slow', () => {
    const health = { ...HEALTHY, heldSince: ago(2 * HOUR), heldReason: 'It answered 503.' };
    const sink = aSink({ health, pending: 5, oldestOwedAt: ago(2 * HOUR), recentMs: Array(9).fill(HOUR) });
    expect([...wrongs(anObservation({ sinks: [sink] })).keys()]).toEqual(['sink_held']);
  });

  test('a source whose credentials are rejected has one alert although no poll works, and does not end an earlier alert about polls', () => {
    const source = aSource({ failure, overdueSince: ago(20 * MINUTE) });
    const observed = anObservation({ sources: [source] });
    expect([...wrongs(observed).keys()]).toEqual(['source_refused']);
    const noPoll = evaluateConditions(observed, NAMES, DEFAULTS).find(
      ({ condition }) => condition === 'no_poll',
    );
    expect(noPoll?.state).toBe('unknown');
    expect([...wrongs(observed, { ...DEFAULTS, source_refused: undefined }).keys()]).toEqual(['no_poll']);
  });

  test('while the ledger cannot be read, sources and sinks are unknown, not healthy', () => {
    const ledger = { reason: 'The disk failed.', hint: 'Look at it.' };
    const observed = anObservation({ sources: undefined, sinks: undefined, ledger });
    const judged = evaluateConditions(observed, NAMES, DEFAULTS);
    expect(judged.find(({ condition }) => condition === 'sink_held')?.state).toBe('unknown');
    expect(judged.find(({ condition }) => condition === 'no_poll')?.state).toBe('unknown');
    expect([...wrongs(observed).keys()]).toEqual(['ledger_fails']);
  });

  test('a condition is evaluated at the time of the observation', () => {
    const dead = aSink({ dead: 1, lastDeadAt: NOW });
    const later = new Date(NOW.getTime() + 2 * HOUR);
    expect([...wrongs(anObservation({ at: later, sinks: [dead] })).keys()]).toEqual([]);
  });
});

test('the alert for rejected leads names the most frequent fault', () => {
  const rejectedReason = { reason: 'client_email: must be text', leads: 80 };
  const what = (rejected: number) =>
    rejectedLeads('main', rejected, { command: commandInText }, rejectedReason)?.message;
  expect(what(90)).toMatch(/ were rejected\. The most frequent fault \(80\): client_email: must be text\.$/);
  expect(what(1)).toMatch(/ was rejected\. The most frequent fault: client_email: must be text\.$/);
  const single = rejectedLeads('main', 12, { command: commandInText }, { ...rejectedReason, leads: 1 });
  expect(single?.message).toMatch(/ were rejected\. One of them: client_email: must be text\.$/);
  expect(rejectedLeads('main', 1, { command: commandInText })?.message).toMatch(/ was rejected\.$/);
});

test.each([1, 4, 5, 60])(
  'a hold of %i min has the same severity as an alert and in the status',
  (minutes) => {
    const health = { ...HEALTHY, heldSince: ago(minutes * MINUTE), heldReason: 'It answered 503.' };
    const sink = aSink({ health });
    const inStatus = heldSink(sink, { command: commandInText, now: NOW })?.severity;
    expect(wrongs(anObservation({ sinks: [sink] })).get('sink_held')?.severity).toBe(inStatus);
    expect(inStatus).toBe(minutes < 5 ? 'warning' : 'critical');
  },
);
