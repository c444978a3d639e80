import { expect, test } from 'vitest';
import { HEALTHY } from '../../src/leads/sink-health.ts';
import type { StoredPoll } from '../../src/ledger/contract/page-rows.ts';
import { pollJson } from '../../src/status/record-json.ts';
import { sinkOverview, sourceOverview, speedsJson, verdictJson } from '../../src/status/status-json.ts';
import type { SinkView, SourceView } from '../../src/status/status-view.ts';

const probeAt = new Date('2026-11-20T10:01:00.000Z');
const nextAttemptAt = new Date('2026-11-20T10:05:00.000Z');

function aView(state: SinkView['state'], isHeld: boolean): SinkView {
  const status = {
    sink: 'crm',
    active: true,
    pending: 2,
    deadReason: undefined,
    deadSince: undefined,
    lastDeadAt: undefined,
    dead: 0,
    delivered: 0,
    skipped: 0,
    leftOut: 0,
    oldestOwedAt: probeAt,
    dueSince: undefined,
    health: isHeld ? { ...HEALTHY, heldSince: probeAt, probeAt } : HEALTHY,
    replays: 0,
    retrying: { deliveries: 2, since: nextAttemptAt, reason: 'It is down.', nextAttemptAt },
  };
  return { name: 'crm', state, config: undefined, status };
}

test.each([
  ['held', true, probeAt],
  ['retrying', false, nextAttemptAt],
  ['paused', true, undefined],
  ['disabled', true, undefined],
  ['disabled', false, undefined],
  ['orphaned', true, undefined],
] as const)('the next attempt of a sink that is %s is when there is one (held: %s)', (state, isHeld, at) => {
  expect(sinkOverview(aView(state, isHeld), probeAt).next_attempt_at).toBe(at?.toISOString() ?? null);
});

test('a sink has the codes of its problems, though it works', () => {
  const healthy = aView('healthy', false);
  const codes = (status: Partial<NonNullable<SinkView['status']>>) =>
    sinkOverview({ ...healthy, status: healthy.status && { ...healthy.status, ...status } }, probeAt)
      .problems;
  expect(codes({ retrying: undefined })).toEqual([]);
  expect(codes({ dead: 3 })).toEqual(['deliveries_dead']);
  expect(sinkOverview(aView('held', true), probeAt).problems).toEqual(['sink_held']);
});

const polled = {
  poll: 1,
  source: 'main',
  startedAt: probeAt,
  finishedAt: probeAt,
  status: 'success',
  listed: 40,
  new: 0,
  changed: 0,
  rejected: 0,
  error: undefined,
} as const;
const known = {
  source: 'main',
  leads: 40,
  listed: 40,
  rejected: 0,
  listedLately: 40,
  lastSuccessAt: probeAt,
  failingSince: undefined,
};

test.each<[string, Partial<SourceView['status']>, string[]]>([
  ['nothing is wrong', {}, []],
  ['its listing has shrunk', { listed: 3 }, ['listing_shrunk']],
  ['it lists leads that are rejected', { rejected: 2 }, ['leads_rejected']],
  [
    'its last poll was refused',
    { lastPoll: { ...polled, status: 'failed', error: 'credentials: It answered 401.' } },
    ['source_refused'],
  ],
  ['it has never been polled', { lastPoll: undefined }, ['never_polled']],
])('a source has the codes of its problems: %s', (_, more, codes) => {
  const status = { ...known, lastPoll: polled, ...more };
  const view: SourceView = { name: 'main', config: undefined, status, unread: true };
  expect(sourceOverview(view, probeAt).problems).toEqual(codes);
});

test.each<[string, Partial<StoredPoll>, string[]]>([
  ['succeeded', { listed_before: 40 }, []],
  ['lists far fewer leads than before', { leads_listed: 12, is_shrunk: true }, ['listing_shrunk']],
  [
    'confirms a listing with rejected leads',
    { status: 'unchanged', listing_rejected: 2 },
    ['leads_rejected'],
  ],
  ['failed', { status: 'failed', error: 'server: It answered 500.' }, ['poll_failed']],
  ['broke off', { status: 'partial', error: 'network: The connection was reset.' }, ['poll_failed']],
  ['was refused', { status: 'failed', error: 'credentials: It answered 401.' }, ['source_refused']],
  [
    'was interrupted',
    { status: 'failed', error: 'leadsync stopped before this poll finished' },
    ['poll_failed'],
  ],
])('a poll has the codes of the problems that it shows: it %s', (_, more, codes) => {
  const at = probeAt.toISOString();
  const counts = { leads_listed: 40, leads_new: 0, leads_changed: 0, leads_rejected: 0, bytes: 9 };
  const ended = { started_at: at, finished_at: at, http_status: 200, error: null, listed_before: null };
  const listing = { is_shrunk: false, listing_rejected: 0 };
  const poll = {
    poll_id: 1,
    source: 'main',
    status: 'success',
    ...counts,
    ...ended,
    ...listing,
    ...more,
  } as const;
  const json = pollJson(poll);
  expect(json.problems).toEqual(codes);
  expect(json.listed_before).toBe(poll.listed_before);
});

test('a problem links to its section of the runbook if the address of the pages is known', () => {
  const problem = {
    code: 'sink_held',
    severity: 'critical',
    about: 'crm',
    message: '',
    nextStep: '',
    pageStep: '',
  } as const;
  const linkOf = (publicUrl: string | undefined) =>
    verdictJson([problem], [], publicUrl).problems.map(({ runbook_url }) => runbook_url);
  expect(linkOf('https://leads.example.com')).toEqual(['https://leads.example.com/runbook/sink-held']);
  expect(linkOf(undefined)).toEqual([null]);
});

test('the speeds are in the order of the configuration, those of removed sinks with measured leads last', () => {
  const speed = (sink: string) => ({
    sink,
    leads: sink === 'old' ? 3 : 0,
    seenToDelivered: undefined,
    createdToDelivered: undefined,
  });
  const sinks = [{ name: 'warehouse' }, { name: 'crm' }, { name: 'drop' }];
  const speeds = speedsJson(['crm', 'drop', 'trial', 'old', 'warehouse'].map(speed), sinks);
  expect(speeds.map(({ sink }) => sink)).toEqual(['warehouse', 'crm', 'drop', 'old']);
});
