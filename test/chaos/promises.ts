import { expectNoCanary } from '../support/scene/canary.ts';
import { type Account, faultsOf, type SinkAccount } from '../support/scene/oracle.ts';
import type { Healed } from './healing.ts';
import type { SPLIT } from './plan.ts';
import type { World } from './world.ts';

/** Maximum memory of a leadsync process, in MB. */
const MEMORY_MB = 450;

/** Maximum number of repeats that are listed. */
const SHOWN = 10;

/** Returns the broken promises, in words; empty if there are none. */
export function brokenPromises(world: World, healed: Healed): string[] {
  const { daemon, worker } = world.parts;
  const tooLarge = [daemon, worker].filter(({ peakMb }) => peakMb > MEMORY_MB);
  return [
    ...world.faults(),
    ...healed.faults,
    ...faultsOf(healed.account, { repeats: true, skipped: leftOutOf(healed.account) }),
    ...wrongSplit(healed.account),
    ...severalBodies(world),
    ...unexcusedRepeats(world),
    ...wrongReplays(world, healed.account),
    ...shownData(world),
    ...world.reader.changed().map((name) => `${name} changed after it had appeared`),
    ...tooLarge.map(({ name, peakMb }) => `${name} held ${Math.round(peakMb)} MB`),
  ];
}

/** Returns the leads that `where` has to leave out of each sink between which the leads are split. */
function leftOutOf({ sinks }: Account): Record<keyof typeof SPLIT, readonly string[]> {
  const all = Object.values(sinks).flatMap(({ skipped }) => skipped);
  const parity = (rest: number) => [...new Set(all)].filter((lead) => idOf(lead) % 2n === BigInt(rest));
  return { even: parity(1), odd: parity(0) };
}

/** Returns what is wrong with the split: every lead belongs to exactly one of the two sinks, and must be skipped at the other. */
function wrongSplit({ served, sinks }: Account): string[] {
  const split = [sinks['even'], sinks['odd']].filter((account) => account !== undefined);
  const sum = (of: (account: SinkAccount) => number) => split.reduce((all, account) => all + of(account), 0);
  const leftOut = sum(({ skipped }) => new Set(skipped).size);
  const arrived = sum(({ delivered }) => delivered);
  return leftOut === served && arrived === served
    ? []
    : [`of ${served} leads, even and odd hold ${arrived} and left out ${leftOut}`];
}

function idOf(lead: string): bigint {
  return BigInt(lead.split(':')[1] ?? '0');
}

/**
 * Returns the requests that may have arrived with another body under the same id. After any other answer the receiver does not have the
 * lead, and the next attempt may use a changed mapping.
 */
function severalBodies({ parts }: World): string[] {
  const mayHaveArrived = parts.receiver.requests.filter(({ request: { status }, answeredMs }) =>
    // Without a status and with an answer, the sender read the head of the answer and left its body.
    status === undefined
      ? answeredMs === undefined
      : (status >= 200 && status <= 299) || [502, 504].includes(status),
  );
  const byId = Map.groupBy(mayHaveArrived, ({ request }) => String(request.headers['webhook-id']));
  return [...byId]
    .filter(([, same]) => new Set(same.map(({ request }) => request.body.toString())).size > 1)
    .map(([id, same]) => `crm: ${same.length} requests with the id ${id} have several bodies`);
}

/** Returns the number of repeats without a reason, and the first of them by name. */
function unexcusedRepeats(world: World): string[] {
  const { unexcused } = world.repeats();
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
  return [parts.daemon, parts.worker, parts.operator].flatMap((part) => {
    try {
      expectNoCanary(part.written, 'the output');
      return [];
    } catch (error) {
      return [error instanceof Error ? error.message : String(error)];
    }
  });
}
