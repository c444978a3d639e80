import { describe, expect, it } from 'vitest';
import type { ListedItem, RejectedLead } from '../../../src/leads/listed-lead.ts';
import type { Outcome } from '../../../src/leads/outcome.ts';
import type { PollEnd } from '../../../src/ledger/contract/ledger-polling.ts';
import { aLead, aListedLead, hashOf } from '../../support/scene/a-lead.ts';
import {
  aSink,
  changedLead,
  delivered,
  HOUR,
  LedgerUnderTest,
  MINUTE,
  type OpenLedger,
  refused,
  unavailable,
} from '../ledger-under-test.ts';

const both = ['created', 'updated'] as const;
const partial = { status: 'partial', httpStatus: 200, error: 'it broke off' } as const;
const complete = { status: 'success', bytes: 1, httpStatus: 200, mark: undefined } as const;

/** Registers the tests of what every ledger promises about two sources with the same lead ids: neither affects the other. */
export function twoSourcesContract(store: () => OpenLedger): void {
  describe('two sources that list the same ids', () => {
    it('a change in one source is not a change in the other, whose sink gets what that source listed', async () => {
      const on = await LedgerUnderTest.with(store(), aSink('crm', { events: both }));
      const north = [changedLead(1, 'North'), changedLead(2, 'North')];
      await on.list(north, 'north');
      await on.list([changedLead(1, 'South'), changedLead(2, 'South')], 'south');
      const changed = await on.list([changedLead(1, 'South again'), changedLead(2, 'South')], 'south');
      expect(changed.summary).toMatchObject({ new: 0, changed: 1, rejected: 0 });
      expect((await on.list(north, 'north')).summary).toMatchObject({ new: 0, changed: 0, rejected: 0 });
      expect(await bringAll(on)).toEqual({
        'north 1': 'North',
        'north 2': 'North',
        'south 1': 'South again',
        'south 2': 'South',
      });
    });

    it('a replay of each source uses what that source lists now', async () => {
      const on = await LedgerUnderTest.with(store(), aSink('crm', { events: both }));
      await on.list([changedLead(1, 'North')], 'north');
      await on.list([changedLead(1, 'South')], 'south');
      await on.list([changedLead(1, 'South again')], 'south');
      await bringAll(on);
      on.clock.jump(1);
      expect(await on.ledger.replay('crm', { lead: 1n, source: 'north' })).toBe(1);
      expect((await on.take('crm')).batch.deliveries).toMatchObject([
        { source: 'north', version: 1, replay: true, raw: changedLead(1, 'North').raw },
      ]);
    });

    it('a content that one source has rejected beside the known one is a change in the other, which lists it alone', async () => {
      const on = await LedgerUnderTest.with(store(), aSink('crm', { events: both }));
      await on.list([1], 'south');
      const other = changedLead(1, 'Somebody Else');
      expect((await on.list([1, other], 'north')).summary).toMatchObject({ new: 1, rejected: 1 });
      // A listing that breaks off makes no rejected content valid; this content was not rejected.
      const { summary } = await on.list([other], 'south', partial);
      expect(summary).toMatchObject({ changed: 1, rejected: 0 });
    });

    it('a rejection in one source leaves that of the other, and a correction affects only its own source', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1, 2], 'north');
      await on.list([1, 2], 'south');
      for (const source of ['north', 'south']) await on.list([aRejected(1n), 2], source);
      expect((await on.list([1, 2], 'north')).summary).toMatchObject({ new: 0, changed: 0, rejected: 0 });
      await on.list([2], 'south');
      expect(await traceOf(on, 'north')).toContain('resolved');
      expect(await traceOf(on, 'south')).not.toContain('resolved');
    });

    it('a complete listing of one source corrects no rejection of the other', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1, changedLead(1, 'Somebody Else')], 'south');
      await on.list([1], 'north');
      expect(await traceOf(on, 'south')).not.toContain('resolved');
    });

    it('a lead is corrected in one source although the other has a lead with that id', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1], 'north');
      await on.list([1, changedLead(1, 'Somebody Else'), 2], 'south');
      await on.list([1], 'south');
      expect(await traceOf(on, 'south')).toContain('resolved');
    });

    it('the first listing of one source is its first, whatever the other listed, and old to a sink without backfill', async () => {
      const on = await LedgerUnderTest.with(store(), aSink('now', { backfill: false }));
      await on.list([], 'south', { status: 'failed', httpStatus: 503, error: 'it is down' });
      await on.list([1], 'north');
      await on.list([], 'north', { status: 'unchanged', bytes: 0, httpStatus: 304 });
      on.clock.jump(HOUR);
      await on.list([aListedLead({ id: 1, created_at: on.clock.in(-MINUTE).toISOString() })], 'south');
      expect(await stateOf(on, 'south')).toEqual(['v1 skipped']);
    });

    it('a poll of one source does not end that of the other', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      const poll = await on.ledger.startPoll('south');
      await on.list([1], 'north');
      const [, south] = (await on.ledger.status()).sources;
      expect(south?.lastPoll).toMatchObject({ poll, source: 'south', status: 'running' });
    });

    it('a lead that leaves one source while the other is read is still listed in the other, which corrects its rejection', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1, 2], 'north');
      await on.list([1, changedLead(1, 'Somebody Else')], 'south');
      const poll = await on.ledger.startPoll('south');
      await on.ledger.record(poll, [aListedLead({ id: 1 })]);
      await on.list([2], 'north');
      await on.ledger.finishPoll(poll, complete);
      expect(await traceOf(on, 'south')).toContain('resolved');
    });

    it('leads listed while a sink was away are new to it although it had the same ids from the other source', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm', 'drop');
      await on.list([1], 'north');
      await bringAll(on, 'drop');
      await on.declare('crm');
      await on.list([1], 'south');
      await on.declare('crm', 'drop');
      await on.list([changedLead(1, 'B')], 'north');
      expect(await on.ledger.backfill('drop')).toEqual({ owed: 1, skipped: 0, done: true });
      const rows = await on.ledger.deliveries({ sink: 'drop' }, { limit: 5 });
      expect(rows.map(({ source, event }) => `${source} ${event}`)).toEqual([
        'south created',
        'north created',
      ]);
    });

    it('a lead of one source that waits for its next attempt blocks no lead of the other', async () => {
      const on = await LedgerUnderTest.with(store(), aSink('crm', { events: both }));
      await on.list([1], 'north');
      await on.list([1], 'south');
      await attemptOf(on, { north: unavailable, south: delivered });
      await on.list([changedLead(1, 'B')], 'south');
      const { batch } = await on.take('crm');
      expect(batch.deliveries).toMatchObject([{ source: 'south', version: 2 }]);
      expect(await stateOf(on, 'north')).toEqual(['v1 pending']);
    });

    it('a pending delivery of one source is not replaced by a change in the other', async () => {
      const on = await LedgerUnderTest.with(store(), aSink('crm', { events: both }));
      await on.list([1, 2], 'north');
      await on.list([1, 2], 'south');
      const { ref } = await on.take('crm', { window: 1 });
      await on.settle(ref, unavailable);
      for (const name of ['B', 'C']) await on.list([changedLead(1, name), changedLead(2, name)], 'south');
      expect(await stateOf(on, 'north')).toEqual(['v1 pending', 'v1 pending']);
      expect(await bringAll(on)).toMatchObject({
        'north 2': 'Anna Müller',
        'south 1': 'C',
        'south 2': 'C',
      });
    });

    it('a dead delivery of one source can be retried after a newer content of the other was delivered', async () => {
      const on = await LedgerUnderTest.with(store(), aSink('crm', { events: both }));
      await on.list([1], 'north');
      await on.list([1], 'south');
      await attemptOf(on, { north: refused, south: delivered });
      expect(await on.ledger.retry({ states: ['dead'] })).toBe(1);
      expect(await stateOf(on, 'north')).toEqual(['v1 pending']);
    });

    it('each source counts and owes the same as it would alone, across changes, disappearances, returns and repeats', async () => {
      const together = await inTurn(store(), ['north', 'south']);
      for (const source of ['north', 'south']) {
        const alone = await inTurn(store(), [source]);
        expect(together.filter((one) => one.source === source)).toEqual(alone);
      }
    });
  });
}

/** The listings of each source, taken in turn: one of north's, one of south's, and so on. */
const STORY: Readonly<Record<string, readonly { items: (ListedItem | number)[]; end?: PollEnd }[]>> = {
  north: [
    { items: [1, 2, 3] },
    { items: [1, changedLead(1, 'Set aside'), changedLead(2, 'N2'), 3] },
    { items: [3] },
    { items: [changedLead(3, 'N3'), aRejected(1n)] },
    { items: [2, 3], end: partial },
    { items: [1, changedLead(2, 'N2'), 3, 4] },
    { items: [1, 1, 2, changedLead(4, 'N4')] },
  ],
  south: [
    { items: [changedLead(1, 'S1'), 2, aRejected(3n)] },
    { items: [changedLead(1, 'S1'), 2, 3] },
    { items: [changedLead(1, 'Set aside'), changedLead(2, 'S2'), 3], end: partial },
    { items: [changedLead(2, 'S2'), 2, changedLead(3, 'N3')] },
    { items: [] },
    { items: [changedLead(1, 'S1'), 4, aRejected(1n)] },
    { items: [2, changedLead(2, 'S2'), changedLead(1, 'Set aside'), 4] },
  ],
};

/** Plays the listings of these sources, attempting what is owed after every second step. Returns the result for each. */
async function inTurn(open: OpenLedger, sources: readonly string[]) {
  const sinks = [aSink('crm', { events: both }), 'drop'];
  const on = await LedgerUnderTest.with(open, ...sinks);
  const steps = STORY['north']?.length ?? 0;
  const summaries: { source: string; step: number; summary: object }[] = [];
  for (let step = 0; step < steps; step += 1) {
    on.clock.jump(MINUTE);
    for (const source of sources) {
      const { items, end } = STORY[source]?.[step] ?? { items: [] };
      const { summary } = await on.list(items, source, end);
      summaries.push({ source, step, summary });
    }
    if (step === 2) await on.declare(...sinks, 'late');
    if (step === 3) await on.ledger.backfill('late');
    if (step % 2 === 1) for (const sink of ['crm', 'drop']) await bringAll(on, sink);
  }
  const rows = await on.ledger.deliveries({}, { limit: 1_000 });
  const counted = (await on.ledger.status()).sources.map(({ lastPoll, ...counts }) => counts);
  return [...summaries, ...counted, ...rows, ...(await tracesOf(on, sources))];
}

/** Returns what happened to each lead of the story, and when, without poll numbers, which differ when both sources poll. */
async function tracesOf(on: LedgerUnderTest, sources: readonly string[]) {
  const traces: { source: string; lead: bigint; events: object[] }[] = [];
  for (const source of sources) {
    for (const lead of [1n, 2n, 3n, 4n]) {
      const entries = await on.ledger.trace(lead, source);
      const events = entries.map(({ at, what, sink, delivery }) => ({ at, what, sink, delivery }));
      traces.push({ source, lead, events });
    }
  }
  return traces;
}

/** Attempts everything successfully until nothing is due. Returns the last delivered client name of each lead. */
async function bringAll(on: LedgerUnderTest, sink = 'crm'): Promise<Record<string, string>> {
  const names: Record<string, string> = {};
  for (let { refs } = await on.claim(sink); refs.length > 0; { refs } = await on.claim(sink)) {
    for (const ref of refs) {
      const { batch } = await on.begin(ref);
      for (const { source, leadId, raw } of batch.deliveries)
        names[`${source} ${leadId}`] = JSON.parse(raw).client_name;
      await on.settle(ref, delivered);
    }
  }
  return names;
}

/** Attempts what is due, once; the source decides the outcome. */
async function attemptOf(on: LedgerUnderTest, outcomes: Readonly<Record<string, Outcome>>): Promise<void> {
  const { refs } = await on.claim('crm');
  for (const ref of refs) {
    const { batch } = await on.begin(ref);
    await on.settle(ref, ...batch.deliveries.map(({ source }) => outcomes[source] ?? delivered));
  }
}

async function stateOf(on: LedgerUnderTest, source: string): Promise<string[]> {
  const rows = await on.ledger.deliveries({ source }, { limit: 10 });
  return rows.map(({ version, state }) => `v${version} ${state}`);
}

/** Returns what happened to lead 1. */
async function traceOf(on: LedgerUnderTest, source: string): Promise<string[]> {
  return (await on.ledger.trace(1n, source)).map(({ what }) => what);
}

function aRejected(id: bigint): RejectedLead {
  const raw = aLead({ id, client_email: null });
  const reason = 'A text is required here, and this is null.';
  return { kind: 'rejected', position: 0, id, raw, hash: hashOf(raw), reason, path: 'client_email' };
}
