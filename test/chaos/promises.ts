import { expectNoCanary } from '../support/scene/canary.ts';
import { type Account, faultsOf } from '../support/scene/oracle.ts';
import type { Healed } from './healing.ts';
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
    ...faultsOf(healed.account, { repeats: true }),
    ...unexcusedRepeats(world),
    ...wrongReplays(world, healed.account),
    ...shownData(world),
    ...world.reader.changed().map((name) => `${name} changed after it had appeared`),
    ...tooLarge.map(({ name, peakMb }) => `${name} held ${Math.round(peakMb)} MB`),
  ];
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
