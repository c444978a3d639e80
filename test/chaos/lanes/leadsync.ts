import type { Chance } from '../../simulation/chance.ts';
import { type Deed, lengthOf, oneOf, type Range, type Spell, spells } from '../deed.ts';
import type { Process, Start } from '../process.ts';

/** Failpoints that are passed often, and those that are passed now and then. */
const OFTEN = [
  'recording',
  'recorded',
  'claimed',
  'offered',
  'begun',
  'accepted',
  'settling',
  'settled',
] as const;
const SELDOM = [
  'listing-read',
  'token-received',
  'token-saved',
  'postgres-commit',
  'postgres-committed',
  'file-write',
  'file-sync',
  'file-rename',
] as const;

/** Draws the troubles of a leadsync process: killed, stopped in order, frozen. Each is as long as one of `troubles`. */
export function drawProcess(chance: Chance, endMs: number, troubles: readonly Range[]): Deed<Process>[] {
  return spells(chance, endMs, [1_000, 6_000], ...troubles).flatMap((spell) =>
    oneOf(chance, [killed, killed, stopped, frozen])(chance, spell),
  );
}

const SHORT: Range = [50, 1_500];
/** Longer than the lock of a job. */
const BEYOND_LOCK: Range = [6_500, 11_000];
/** Longer than an attempt may take, so that another process gets its batch. */
export const BEYOND_LEASE: Range = [23_000, 27_000];

/** How long the daemon is in trouble, and how long a worker, which others can replace. */
export const DAEMON_TROUBLES = [SHORT, SHORT, SHORT, SHORT, BEYOND_LOCK];
export const WORKER_TROUBLES = [...DAEMON_TROUBLES, BEYOND_LEASE];

/** Draws the successive starts of a process: its failpoints, and whether it delivers. */
export function drawStarts(chance: Chance, options: { mayLeaveDeliveries: boolean }): Start[] {
  return Array.from({ length: 500 }, () => ({
    failpoints: chance.oneIn(4) ? undefined : failpoint(chance),
    deliver: !options.mayLeaveDeliveries || !chance.oneIn(4),
    // A supervisor restarts it neither immediately nor after an hour.
    afterMs: chance.between(50, 1_500),
  }));
}

function failpoint(chance: Chance): string {
  const place = chance.oneIn(3) ? oneOf(chance, SELDOM) : oneOf(chance, OFTEN);
  const often = OFTEN.some((one) => one === place);
  const passage = chance.between(1, often ? oneOf(chance, [3, 30, 100]) : oneOf(chance, [2, 5]));
  if (place.startsWith('file-') && chance.oneIn(2)) {
    const code = oneOf(chance, ['ENOSPC', 'EIO', 'EDQUOT']);
    return `${place}=${code}@${passage}*${chance.between(1, 4)}`;
  }
  return `${place}=${chance.oneIn(5) ? 'freeze' : 'kill'}@${passage}`;
}

function killed(chance: Chance, spell: Spell): Deed<Process>[] {
  return ended(chance, spell, 'SIGKILL', 'killed');
}

function stopped(chance: Chance, spell: Spell): Deed<Process>[] {
  return ended(chance, spell, 'SIGTERM', 'asked to stop');
}

/** Mostly spares a process that has not started yet: on a slow machine, the run would otherwise be nothing but starts. */
function ended(chance: Chance, spell: Spell, signal: NodeJS.Signals, how: string): Deed<Process>[] {
  const isSparing = !chance.oneIn(5);
  const end = (it: Process) => (isSparing && !it.isUp ? 'spared: it has not started yet' : it.end(signal));
  return [
    { atMs: spell.fromMs, text: `${how}, for ${lengthOf(spell)}`, act: end },
    { atMs: spell.toMs, text: 'started', act: (it) => it.start() },
  ];
}

function frozen(_: Chance, spell: Spell): Deed<Process>[] {
  return [
    { atMs: spell.fromMs, text: `frozen for ${lengthOf(spell)}`, act: (it) => it.freeze() },
    { atMs: spell.toMs, text: 'goes on', act: (it) => it.thaw() },
  ];
}
