import { hash } from 'node:crypto';
import { expect, test } from 'vitest';
import { leadText } from '../../stub/generated-lead.ts';
import { type Account, accountOf, faultsOf } from './oracle.ts';
import type { Held, Scene } from './scene.ts';

/** One delivery of a lead, as the `deliveries` command lists it. */
interface Owed {
  readonly lead: number;
  readonly version: number;
  readonly state: 'pending' | 'dead' | 'skipped';
  readonly reason?: string;
}

const text = (lead: number, version: number) => leadText({ seed: 1, id: lead, version });
const nameOf = (lead: number, version: number, replay = '') =>
  `crm:main:${lead}:${version}:${hash('sha256', text(lead, version)).slice(0, 8)}${replay}`;
const held = (lead: number, version = 1, under = nameOf(lead, version)): Held => ({
  source: 'main',
  lead: String(lead),
  version,
  under,
  raw: text(lead, version),
});

/**
 * Returns the account of a scene whose service served each lead in this number of versions, or in exactly these versions. The webhook holds
 * `at.held`; the other sinks hold everything.
 */
async function accountAt(
  served: Readonly<Record<number, number | readonly number[]>>,
  at: { held: readonly Held[]; owed?: readonly Owed[] },
): Promise<Account> {
  const history = (lead: number) => {
    const versions = served[lead] ?? 0;
    return typeof versions === 'number'
      ? Array.from({ length: versions }, (_, index) => index + 1)
      : versions;
  };
  const newest = (lead: number) => history(lead).at(-1);
  const ids = () => Object.keys(served).map(Number);
  const everything = ids().map((lead) => held(lead, newest(lead)));
  const deliveries = (at.owed ?? []).map(({ lead, version, state, reason }) => ({
    delivery_id: nameOf(lead, version),
    source: 'main',
    lead_id: String(lead),
    sink: 'crm',
    state,
    reason: reason ?? null,
  }));
  const scene = {
    services: {
      main: { served: { ids, newest, history, text, raw: () => [] } },
    },
    held: async () => ({ crm: at.held, drop: everything, warehouse: everything }),
    run: async () => ({
      code: 0,
      signal: null,
      stdout: JSON.stringify({ deliveries, more: false }),
      stderr: '',
    }),
  };
  return accountOf(scene as unknown as Scene);
}

const faultsAt = async (...args: Parameters<typeof accountAt>) =>
  faultsOf(await accountAt(...args), { repeats: true });

test('a lead that arrived with the served content is not a fault', async () => {
  expect(await faultsAt({ 1: 1, 2: 2 }, { held: [held(1), held(2), held(2, 2)] })).toEqual([]);
});

test('a lead that is neither delivered nor owed is lost', async () => {
  expect(await faultsAt({ 1: 1, 2: 1 }, { held: [held(1)] })).toEqual(['crm: 1 lost (main:2)']);
});

test.each(['dead', 'skipped'] as const)(
  'a lead that is %s is a fault unless the test allows it and it has a reason',
  async (state) => {
    const row = { lead: 1, version: 1, state };
    const account = await accountAt({ 1: 1 }, { held: [], owed: [{ ...row, reason: 'It was refused.' }] });
    expect(faultsOf(account, { repeats: true })).toEqual([`crm: 1 ${state} (main:1)`]);
    expect(faultsOf(account, { repeats: true, [state]: { crm: ['main:2'], drop: ['main:1'] } })).toEqual([
      `crm: 1 ${state} (main:1)`,
    ]);
    expect(faultsOf(account, { repeats: true, [state]: { crm: ['main:1'] } })).toEqual([]);
    const silent = await accountAt({ 1: 1 }, { held: [], owed: [row] });
    expect(faultsOf(silent, { repeats: true, [state]: { crm: ['main:1'] } })).toEqual([
      'crm: 1 withoutReason (main:1)',
    ]);
  },
);

test.each(['dead', 'skipped'] as const)(
  'an older content that is %s is not a fault once the newest was delivered',
  async (state) => {
    const owed = [{ lead: 1, version: 1, state, reason: 'A newer one took its place.' }];
    expect(await faultsAt({ 1: 2 }, { held: [held(1, 2)], owed })).toEqual([]);
  },
);

test('a dead older content does not excuse a missing newest content', async () => {
  const owed = [{ lead: 1, version: 1, state: 'dead', reason: 'It was refused.' }] as const;
  expect(await faultsAt({ 1: 2 }, { held: [], owed })).toEqual([
    'crm: 1 lost (main:1)',
    'crm: 1 dead (main:1)',
  ]);
});

test('a sink that holds only the older content is stale', async () => {
  expect(await faultsAt({ 1: 2 }, { held: [held(1)] })).toEqual(['crm: 1 stale (main:1)']);
});

test('an older content after a newer one is stale, even if the newest arrives again', async () => {
  const replayed = held(1, 2, nameOf(1, 2, ':r1'));
  expect(await faultsAt({ 1: 2 }, { held: [held(1, 2), held(1), replayed] })).toEqual([
    'crm: 1 stale (main:1)',
  ]);
});

test('a repeat with the same idempotency key is recognised, whatever its position', async () => {
  const account = await accountAt({ 1: 2 }, { held: [held(1), held(1, 2), held(1)] });
  expect(faultsOf(account, { repeats: true })).toEqual([]);
  expect(faultsOf(account, { repeats: 1 })).toEqual([]);
  expect(faultsOf(account, { repeats: false })).toEqual(['crm: 1 repeated (main:1)']);
});

const back = (lead: number) => held(lead, 1, nameOf(lead, 1).replace(':1:1:', ':1:3:'));

test('a lead that changed back must arrive twice with its first content', async () => {
  const changedBack = { 1: [1, 2, 1] };
  expect(await faultsAt(changedBack, { held: [held(1), held(1, 2), back(1)] })).toEqual([]);
  expect(await faultsAt(changedBack, { held: [held(1), held(1, 2)] })).toEqual(['crm: 1 stale (main:1)']);
  expect(await faultsAt({ 1: [1, 2] }, { held: [held(1), back(1), held(1, 2)] })).toEqual([
    'crm: 1 twice (main:1)',
  ]);
});

test('a receiver cannot recognise the same content under two idempotency keys', async () => {
  expect(await faultsAt({ 1: 1 }, { held: [held(1), held(1, 1, 'crm:main:1:2:0')] })).toEqual([
    'crm: 1 twice (main:1)',
  ]);
});

test.each([':r1', ':r1:m2'])('a replay is an intended repeat and is counted (%s)', async (ending) => {
  const account = await accountAt({ 1: 1 }, { held: [held(1), held(1, 1, nameOf(1, 1, ending))] });
  expect(faultsOf(account, { repeats: false })).toEqual([]);
  expect(account.sinks.crm.replayed).toEqual(['main:1']);
});

test('a lead whose text differs from what was served is altered; a lead that was never served is foreign', async () => {
  const altered = { ...held(1), raw: text(1, 1).replace('"id":1,', '"id":1, ') };
  expect(await faultsAt({ 1: 1 }, { held: [altered, held(3)] })).toEqual([
    'crm: 1 altered (main:1)',
    'crm: 1 foreign (main:3)',
  ]);
});

test('a lead of one source is not the lead with the same id of another source', async () => {
  const other: Held = { ...held(1), source: 'other' };
  expect(await faultsAt({ 1: 1 }, { held: [other] })).toEqual([
    'crm: 1 lost (main:1)',
    'crm: 1 foreign (other:1)',
  ]);
});
