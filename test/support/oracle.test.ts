import { hash } from 'node:crypto';
import { expect, test } from 'vitest';
import { leadText } from '../stub/generated-lead.ts';
import { type Account, accountOf, faultsOf } from './oracle.ts';
import type { Held, Scene } from './scene.ts';

/** A lead's delivery as the `deliveries` command lists it. */
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
  lead: String(lead),
  version,
  under,
  raw: text(lead, version),
});

/** The account at the webhook of a scene whose service served leads in so many versions; the other sinks hold all of it. */
async function accountAt(
  served: Readonly<Record<number, number>>,
  at: { held: readonly Held[]; owed?: readonly Owed[] },
): Promise<Account> {
  const everything = Object.entries(served).map(([lead, version]) => held(Number(lead), version));
  const versions = (lead: number) => Array.from({ length: served[lead] ?? 0 }, (_, index) => index + 1);
  const deliveries = (at.owed ?? []).map(({ lead, version, state, reason }) => ({
    delivery_id: nameOf(lead, version),
    lead_id: String(lead),
    sink: 'crm',
    state,
    reason: reason ?? null,
  }));
  const scene = {
    stub: { served: { ids: () => Object.keys(served).map(Number), versions, text, raw: () => [] } },
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

test('a lead that is there, in the content that was served, is no fault', async () => {
  expect(await faultsAt({ 1: 1, 2: 2 }, { held: [held(1), held(2), held(2, 2)] })).toEqual([]);
});

test('a lead that is nowhere is lost', async () => {
  expect(await faultsAt({ 1: 1, 2: 1 }, { held: [held(1)] })).toEqual(['crm: 1 lost (2)']);
});

test('a lead that is dead for a reason is accounted for; without one it is not', async () => {
  const dead = { lead: 1, version: 1, state: 'dead' } as const;
  expect(await faultsAt({ 1: 1 }, { held: [], owed: [{ ...dead, reason: 'It was refused.' }] })).toEqual([]);
  expect(await faultsAt({ 1: 1 }, { held: [], owed: [dead] })).toEqual(['crm: 1 withoutReason (1)']);
});

test('that an older content is dead does not excuse that the newest is nowhere', async () => {
  const owed = [{ lead: 1, version: 1, state: 'dead', reason: 'It was refused.' }] as const;
  expect(await faultsAt({ 1: 2 }, { held: [], owed })).toEqual(['crm: 1 lost (1)']);
});

test('a sink that has only the older content is stale', async () => {
  expect(await faultsAt({ 1: 2 }, { held: [held(1)] })).toEqual(['crm: 1 stale (1)']);
});

test('an older content after a newer one is stale, also when the newest comes once more', async () => {
  const replayed = held(1, 2, nameOf(1, 2, ':r1'));
  expect(await faultsAt({ 1: 2 }, { held: [held(1, 2), held(1), replayed] })).toEqual(['crm: 1 stale (1)']);
});

test('a repeat under the name that it had is recognised, wherever it comes in', async () => {
  const account = await accountAt({ 1: 2 }, { held: [held(1), held(1, 2), held(1)] });
  expect(faultsOf(account, { repeats: true })).toEqual([]);
  expect(faultsOf(account, { repeats: false })).toEqual(['crm: 1 repeated (1)']);
});

test('the same content under two names is one that no receiver can recognise', async () => {
  expect(await faultsAt({ 1: 1 }, { held: [held(1), held(1, 1, 'crm:main:1:2:0')] })).toEqual([
    'crm: 1 twice (1)',
  ]);
});

test('a replay is a wanted repeat, and is counted', async () => {
  const account = await accountAt({ 1: 1 }, { held: [held(1), held(1, 1, nameOf(1, 1, ':r1'))] });
  expect(faultsOf(account, { repeats: false })).toEqual([]);
  expect(account.sinks.crm.replayed).toEqual(['1']);
});

test('a lead whose text is not what was served is altered; one that was never served is foreign', async () => {
  const altered = { ...held(1), raw: text(1, 1).replace('"id":1,', '"id":1, ') };
  expect(await faultsAt({ 1: 1 }, { held: [altered, held(3)] })).toEqual([
    'crm: 1 altered (1)',
    'crm: 1 foreign (3)',
  ]);
});
