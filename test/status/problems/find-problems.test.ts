import { expect, test } from 'vitest';
import { HEALTHY, MAPPING_FAILS } from '../../../src/leads/sink-health.ts';
import type { PollRow } from '../../../src/ledger/contract/status-rows.ts';
import { evaluateConditions } from '../../../src/status/problems/alert-conditions.ts';
import { findProblems } from '../../../src/status/problems/find-problems.ts';
import { commandInText } from '../../../src/status/problems/problem.ts';
import { deadLeads, heldSink } from '../../../src/status/problems/sink-checks.ts';
import { findSourceProblems } from '../../../src/status/problems/source-problems.ts';
import { sourceOverview } from '../../../src/status/status-json.ts';
import { anObservation, aSink, aSource, DEFAULTS, NAMES, NOW, RUNNING } from '../an-observation.ts';

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

const GIVEN = {
  now,
  ...RUNNING,
  command: (words: string) => `leadsync ${words}`,
};

/** The state of a sink in the ledger, without what its observation has too. */
const AT_REST = {
  sink: 'crm',
  active: true,
  deadSince: undefined,
  delivered: 0,
  skipped: 0,
  leftOut: 0,
  retrying: undefined,
  replays: 0,
  dueSince: undefined,
};

/** A source whose last poll failed. */
const BROKEN = {
  source: 'broken',
  leads: 0,
  listed: 0,
  rejected: 0,
  listedLately: 0,
  lastPoll: failed,
  lastSuccessAt: undefined,
  failingSince: undefined,
};

test('critical problems come before warnings, whatever their order in the configuration', () => {
  const status = { ...BROKEN, failingSince: new Date(now.getTime() - 3_600_000) };
  const sources = [
    { name: 'new', config: undefined, status: undefined, unread: true },
    { name: 'broken', config: undefined, status, unread: true },
  ];
  const problems = findProblems(sources, [], GIVEN);
  expect(problems.map(({ severity, about }) => `${severity} ${about}`)).toEqual([
    'critical broken',
    'warning new',
  ]);
});

test.each([
  [undefined, true, 'warning'],
  [4, true, 'warning'],
  [5, true, 'critical'],
  [undefined, false, 'critical'],
])(
  'polls that have failed for %s minutes, with leadsync running: %s, are %s',
  (minutes, running, severity) => {
    const failingSince = minutes === undefined ? undefined : new Date(now.getTime() - minutes * 60_000);
    const source = {
      name: 'broken',
      config: undefined,
      status: { ...BROKEN, failingSince },
      unread: true,
    };
    const problems = findProblems([source], [], { ...GIVEN, running });
    expect(problems.filter(({ about }) => about === 'broken')).toMatchObject([
      { code: 'poll_failed', severity },
    ]);
  },
);

test.each([
  ['it failed', failed.error, ['poll_failed']],
  ['a stop of leadsync interrupted it', 'leadsync stopped before this poll finished', []],
])('while a poll runs, the problem of the poll before it lasts if %s', (_, error, codes) => {
  const lastPoll: PollRow = { ...failed, poll: 2, status: 'running', error: undefined };
  const status = { ...BROKEN, lastPoll, failedBefore: { ...failed, error }, failingSince: now };
  const source = { name: 'broken', config: undefined, status, unread: true };
  expect(findSourceProblems(source, GIVEN).map(({ code }) => code)).toEqual(codes);
  const { error: shown, failing_since: since } = sourceOverview(source, now);
  expect([shown, since]).toEqual(
    codes.length === 0 ? [null, null] : ['It answers with an error of its own (500).', now.toISOString()],
  );
});

test.each([
  [9, 59, []],
  [10, 0, ['leads_retried']],
  [1, 60, ['leads_retried']],
])('%i leads that have been failing for %i s are the problems %j', (deliveries, seconds, codes) => {
  const retrying = {
    deliveries,
    since: new Date(now.getTime() - seconds * 1_000),
    reason: 'It answered 503.',
    nextAttemptAt: new Date(now.getTime() + 300_000),
  };
  const status = { ...aSink({ pending: deliveries }), ...AT_REST, retrying };
  const sink = { name: 'crm', state: 'retrying', config: undefined, status } as const;
  expect(findProblems([], [sink], GIVEN).map(({ code }) => code)).toEqual(codes);
});

const FILE = '/etc/leadsync/leadsync.yaml';

test.each([
  [
    401,
    "Correct the sink's credentials, or their permissions at the destination: `headers.Authorization` (environment variable `CRM_TOKEN`), `secret` (file `/run/secrets/crm`). To apply: `leadsync reload` applies a changed file; a changed environment variable needs a restart of leadsync. Nothing is lost",
    [
      { path: 'sources.main.client_secret', variables: ['OTHER'], file: undefined },
      { path: 'sinks.crm.headers.Authorization', variables: ['CRM_TOKEN'], file: undefined },
      { path: 'sinks.crm.secret', variables: [], file: '/run/secrets/crm' },
      { path: 'sinks.crm2.secret', variables: ['OTHER'], file: undefined },
    ],
  ],
  [
    403,
    '`password` (environment variable `CRM_PASSWORD`). To apply: a changed environment variable needs a restart of leadsync. ',
    [{ path: 'sinks.crm.password', variables: ['CRM_PASSWORD'], file: undefined }],
  ],
  [
    401,
    `\`secret\` (environment variable \`PART\`, file \`${FILE}\`). To apply: \`leadsync reload\` applies a changed file; a changed`,
    [{ path: 'sinks.crm.secret', variables: ['PART'], file: FILE }],
  ],
  [
    403,
    'Give leadsync access at the destination, or give the sink its credentials, then `leadsync reload`. Nothing is lost',
    [],
  ],
  [404, 'Fix the destination. Nothing is lost', [{ path: 'sinks.crm.secret', variables: ['X'], file: FILE }]],
])(
  'a sink that answers %i names the options that hold its secrets, if they may be at fault: %s',
  (heldStatus, nextStep, secrets) => {
    const health = { ...HEALTHY, heldSince: NOW, heldReason: `It answered ${heldStatus}.`, heldStatus };
    const sink = aSink({ health, pending: 3, secrets: () => secrets });
    const [alert] = evaluateConditions(anObservation({ sinks: [sink] }), NAMES, DEFAULTS).flatMap(
      ({ condition, state }) => (condition === 'sink_held' && typeof state === 'object' ? [state.next] : []),
    );
    // An alert has other readers than the configuration.
    expect(alert).toContain(nextStep.replaceAll(/ \((?:environment variable|file) [^)]*\)/g, ''));
    const status = { ...sink, ...AT_REST };
    const [found] = findProblems([], [{ name: 'crm', state: 'held', config: undefined, status }], {
      now,
      ...RUNNING,
      secrets: () => secrets,
      namesOrigins: true,
    });
    expect(found?.nextStep).toContain(nextStep);
  },
);

test.each([
  [1, 'crm: 1 dead delivery since 2026-11-20T09:54:40Z (5 min ago): It says no.'],
  [10, 'crm: 10 dead deliveries since 2026-11-20T09:54:40Z (5 min ago), the last 84 s ago: It says no.'],
])('%i dead: the problem says since when, and when the last one died, in one unit', (dead, message) => {
  const sink = aSink({ dead, deadReason: { reason: 'It says no.', deliveries: dead } });
  const times = {
    deadSince: new Date(now.getTime() - 320_000),
    lastDeadAt: new Date(now.getTime() - 84_000),
  };
  expect(deadLeads({ ...sink, ...times }, { command: commandInText, now })?.message).toBe(message);
  expect(deadLeads({ ...sink, ...times }, { command: commandInText })?.message).not.toContain('since');
});

test('a probe that is due within a second is due now, and not in 0 s', () => {
  const health = {
    ...HEALTHY,
    heldSince: NOW,
    heldReason: 'It is down.',
    probeAt: new Date(now.getTime() + 400),
  };
  const found = heldSink(aSink({ health, pending: 3 }), { command: commandInText, now });
  expect(found?.pageStep).toContain('The next probe is due now.');
});

test('the pages leave out the commands for which they have a button or a link', () => {
  const given = {
    now,
    ...RUNNING,
  };
  const health = { ...HEALTHY, heldSince: NOW, probeAt: new Date(now.getTime() + 8_000) };
  const counts = { pending: 3, delivered: 0, dead: 0, skipped: 0, leftOut: 0, replays: 0 };
  const none = { deadReason: undefined, deadSince: undefined, lastDeadAt: undefined };
  const sink = { ...counts, ...none, sink: 'crm', active: true, health, retrying: undefined };
  const source = {
    source: 'main',
    leads: 80,
    listed: 0,
    listedLately: 60,
    rejected: 2,
    lastSuccessAt: now,
    failingSince: undefined,
  };
  const lastPoll = { ...failed, status: 'success', error: undefined } as const;
  const problems = findProblems(
    [{ name: 'main', config: undefined, status: { ...source, lastPoll }, unread: true }],
    [
      {
        name: 'crm',
        state: 'held',
        config: undefined,
        status: { ...sink, oldestOwedAt: undefined, dueSince: undefined },
      },
    ],
    given,
  );
  const steps = Object.fromEntries(problems.map((one) => [one.code, one]));
  for (const [code, command] of [
    ['sink_held', 'leadsync resume crm'],
    ['leads_rejected', 'leadsync rejected'],
    ['listing_shrunk', 'v_gone_leads'],
  ] as const) {
    expect(steps[code]?.nextStep).toContain(command);
    expect(steps[code]?.pageStep).not.toContain(command);
  }
  expect(steps['sink_held']?.pageStep).toBe(
    'Fix the destination. Nothing is lost: 3 leads wait. The next probe is in 8 s.',
  );
});

test.each([
  ['warning', 299, 503, 'It answered 503.'],
  ['critical', 300, 503, 'It answered 503.'],
  ['critical', 0, 401, 'It answered 401.'],
  ['critical', 0, 403, 'It answered 403.'],
  ['critical', 0, undefined, `${MAPPING_FAILS} at column 3.`],
])(
  'a hold is a %s after %d s if the destination answers %s: %s',
  (severity, seconds, heldStatus, heldReason) => {
    const heldSince = new Date(now.getTime() - seconds * 1000);
    const sink = aSink({ health: { ...HEALTHY, heldSince, heldStatus, heldReason } });
    expect(heldSink(sink, { command: commandInText, now })?.severity).toBe(severity);
    expect(heldSink(sink, { command: commandInText })?.severity).toBe('critical');
  },
);

test.each([
  [8_000, 3, '3 leads wait. The next probe is in 8 s; `leadsync resume crm` sends a probe now.'],
  [0, 3, '3 leads wait. The next probe is due now.'],
  [-3 * 3_600_000, 3, '3 leads wait. The next probe is due now.'],
  [8_000, 0, 'no leads wait. The next lead is the probe.'],
  [-3 * 3_600_000, 0, 'no leads wait. The next lead is the probe.'],
])('a held sink whose probe is due in %i ms, with %i pending leads: %s', (inMs, pending, next) => {
  const health = { ...HEALTHY, heldSince: now, probeAt: new Date(now.getTime() + inMs) };
  const found = heldSink(aSink({ name: 'crm', health, pending }), { command: commandInText, now });
  expect(found?.nextStep).toBe(`Fix the destination. Nothing is lost: ${next}`);
});

test.each([
  [
    'server: It fails.',
    'leadsync retries automatically; `leadsync check` tries now.',
    'leadsync retries automatically.',
  ],
  [
    'login-refused: It says no.',
    'If the login was revoked, do not wait: `leadsync login main` logs a person in again; `leadsync check` tries now.',
    'If the login was revoked, do not wait: `leadsync login main` logs a person in again.',
  ],
])('the pages poll with a button where the status names `check`: %s', (error, nextStep, pageStep) => {
  const source = {
    source: 'main',
    leads: 8,
    listed: 8,
    listedLately: 8,
    rejected: 0,
    lastSuccessAt: now,
    failingSince: undefined,
  };
  const problems = findProblems(
    [
      {
        name: 'main',
        config: undefined,
        status: { ...source, lastPoll: { ...failed, error } },
        unread: true,
      },
    ],
    [],
    {
      now,
      ...RUNNING,
    },
  );
  expect(problems).toContainEqual(expect.objectContaining({ nextStep, pageStep }));
});

test.each([
  [
    'says since when, if the polls before it failed too',
    38,
    'The service does not answer. Polls have failed since 2026-',
  ],
  ['says nothing of the time, if it is the first', 0, 'The service does not answer'],
])('a failed poll %s', (_, minutes, text) => {
  const lastPoll = { ...failed, error: 'network: The service does not answer', startedAt: now };
  const failingSince = new Date(now.getTime() - minutes * 60_000);
  const status = { source: 'main', leads: 0, listed: 0, rejected: 0, listedLately: 0, lastPoll };
  const source = { ...status, lastSuccessAt: undefined, failingSince };
  const [found] = findSourceProblems(
    { name: 'main', config: undefined, status: source, unread: true },
    { now, running: true, command: (words) => `leadsync ${words}` },
  );
  const end = minutes === 0 ? '' : '(38 min ago).';
  expect(found?.message.startsWith(`main: the last poll failed: ${text}`)).toBe(true);
  expect(found?.message.endsWith(end === '' ? text : end)).toBe(true);
});

test('an alert says what the status says, but for how long ago it was', () => {
  const stale = { since: now, faults: ['leadsync.yaml:3:1: unknown option'] };
  const health = { ...HEALTHY, pausedSince: now, pausedReason: 'moving house' };
  const sink = aSink({ health, pending: 3, dead: 2, lastDeadAt: NOW });
  const listing = { lastSuccessAt: now, failingSince: undefined, listed: 0, listedLately: 60, leads: 80 };
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
    deadSince: undefined,
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
      ...RUNNING,
      stale,
    },
  ).map(({ code, message, nextStep }) =>
    `${code} ${message} ${nextStep}`.replace(/has been (\w+) since \S+ \(0 s ago\)/, 'is $1'),
  );
  expect(problems.toSorted()).toEqual(alerts.toSorted());
  expect(problems).toHaveLength(4);
});
