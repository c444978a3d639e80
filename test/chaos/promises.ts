import { expectNoCanary } from '../support/scene/canary.ts';
import { type Account, faultsOf, servedBesides } from '../support/scene/oracle.ts';
import { keyOf } from '../support/scene/scene.ts';
import type { Healed } from './healing.ts';
import type { LedgerRecord } from './ledgers/ledger-record.ts';
import { processesOf } from './machine.ts';
import { wrongForms } from './mappings/account.ts';
import { SPLIT, SPLIT_RATE } from './plan.ts';
import { tooFast } from './too-fast.ts';
import { CANARY_IDS, type World } from './world.ts';

/** Maximum memory of a leadsync process, in MB. */
const MEMORY_MB = 450;

/** Maximum number of repeats that are listed. */
const SHOWN = 10;

/** Returns the broken promises, in words; empty if there are none. */
export async function brokenPromises(world: World, healed: Healed): Promise<string[]> {
  const ledger = await world.ledger.read();
  const canaries = CANARY_IDS.map((id) => ({ source: 'main', lead: String(id) }));
  const tooLarge = processesOf(world.parts.machines).filter(({ peakMb }) => peakMb > MEMORY_MB);
  return [
    ...world.faults(),
    ...healed.faults,
    ...(await world.ledger.contradictions()),
    ...faultsOf(healed.account, { repeats: true, skipped: leftOutOf(ledger) }),
    ...shortened(await wrongForms(world, ledger)),
    ...severalBodies(world),
    ...tooManyRequests(world),
    ...(await unexcusedRepeats(world)),
    ...wrongReplays(world, healed.account),
    ...(await atDestination(world)),
    ...world.parts.CRMs.faults([...world.scene.served(), ...canaries], servedBesides(world.scene)),
    ...shownData(world),
    ...world.reader.changed().map((name) => `${name} changed after it had appeared`),
    ...tooLarge.map(({ name, peakMb }) => `${name} held ${Math.round(peakMb)} MB`),
  ];
}

/** Returns the first faults of the run's own destination, and the number of the others. */
async function atDestination({ parts }: World): Promise<string[]> {
  const all = await parts.destination.destination.faults();
  const more = all.length > SHOWN ? [`${all.length - SHOWN} more faults`] : [];
  return [...all.slice(0, SHOWN), ...more].map((fault) => `destination: ${fault}`);
}

/** Returns the leads that `where` left out of each sink between which the leads are split; `wrongForms` checks whether it had to. */
function leftOutOf({ leftOut }: LedgerRecord): Record<string, readonly string[]> {
  const of = (sink: string) => leftOut.filter((one) => one.sink === sink).map(keyOf);
  return Object.fromEntries(SPLIT.map((sink) => [sink, of(sink)]));
}

/** Returns the ids under which a receiver got requests with different bodies, whatever it answered. */
function severalBodies({ parts }: World): string[] {
  const receivers = { crm: parts.receiver, ...parts['split receivers'] };
  return Object.entries(receivers).flatMap(([sink, { requests }]) => {
    const bound = new Map<string, string>();
    const wrong = new Set<string>();
    for (const { request } of requests) {
      const id = String(request.headers['webhook-id']);
      const body = request.body.toString();
      const first = bound.get(id);
      if (first !== undefined && first !== body) wrong.add(id);
      if (first === undefined) bound.set(id, body);
    }
    return [...wrong].slice(0, SHOWN).map((id) => `${sink}: the id ${id} has several bodies`);
  });
}

function tooManyRequests({ parts }: World): string[] {
  const troubles = { ends: processesOf(parts.machines).flatMap(({ ends }) => ends) };
  return SPLIT.flatMap((sink) =>
    tooFast(sink, parts['split receivers'][sink].requests, SPLIT_RATE, troubles),
  );
}

/** Returns the first faults of each sink, and the number of the others. */
function shortened(faults: readonly string[]): string[] {
  const bySink = Map.groupBy(faults, (fault) => fault.split(':')[0]);
  return [...bySink].flatMap(([sink, all]) => [
    ...all.slice(0, SHOWN),
    ...(all.length > SHOWN ? [`${sink}: ${all.length - SHOWN} more leads in a wrong form`] : []),
  ]);
}

/** Returns the number of repeats without a reason, and the first of them by name. */
async function unexcusedRepeats(world: World): Promise<string[]> {
  const { unexcused } = await world.repeats();
  if (unexcused.length === 0) return [];
  return [`crm: ${unexcused.length} repeats that nothing excuses`, ...unexcused.slice(0, SHOWN)];
}

/**
 * Returns the replays that are wrong. Each requested replay must be there once, or have been given up for a newer content; no other may be
 * there.
 */
function wrongReplays({ parts }: World, account: Account): string[] {
  const { replayed, maybeReplayed } = parts.operator;
  const count = (list: readonly string[], what: string) => list.filter((one) => one === what).length;
  return (['crm', 'drop'] as const).flatMap((sink) => {
    const { replayed: held, notReplayed } = account.sinks[sink];
    const leads = new Set([...held, ...replayed.map((one) => one.split(' ')[1] ?? '')]);
    return [...leads].flatMap((lead) => {
      const asked = count(replayed, `${sink} ${lead}`);
      const most = asked + count(maybeReplayed, `${sink} ${lead}`);
      const there = count(held, lead);
      if (there + count(notReplayed, lead) >= asked && there <= most) return [];
      return [`${sink}: ${asked} replays of ${lead} were asked for, and ${there} are there`];
    });
  });
}

/** Returns the outputs for operators that contain what a person typed. */
function shownData({ parts }: World): string[] {
  return [...processesOf(parts.machines), parts.operator].flatMap((part) => {
    try {
      expectNoCanary(part.written, 'the output');
      return [];
    } catch (error) {
      return [error instanceof Error ? error.message : String(error)];
    }
  });
}
