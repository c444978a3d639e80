import { expect, test } from 'vitest';
import { HEALTHY } from '../../src/leads/sink-health.ts';
import { sinkOverview } from '../../src/status/status-json.ts';
import type { SinkView } from '../../src/status/status-view.ts';

const probeAt = new Date('2026-11-20T10:01:00.000Z');
const nextAttemptAt = new Date('2026-11-20T10:05:00.000Z');

function aView(state: SinkView['state'], isHeld: boolean): SinkView {
  const status = {
    sink: 'crm',
    active: true,
    pending: 2,
    deadReason: undefined,
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
