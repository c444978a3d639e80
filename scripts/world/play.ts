import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../../test/support/time/until.ts';
import type { Journal } from './journal.ts';
import type { Photographer } from './pictures/photographer.ts';
import type { ProblemWatch } from './problem-watch.ts';
import { TIMETABLE, type Trouble, type World, type WorldEvent } from './timetable.ts';

/** Minute of the timetable before which nothing is wrong. */
const ALL_WELL_MINUTE = 0.8;
/** Maximum wait until leadsync reports a problem. */
const REPORTED_MS = 120_000;

/** What the timetable needs besides the world itself. */
export interface Play {
  /** Duration, if no pictures are taken. */
  readonly minutes: number;
  /** How many minutes of the timetable pass in a minute. */
  readonly speed: number;
  /** Ends the play at any time. */
  readonly stopped: AbortSignal;
  readonly watch: Pick<ProblemWatch, 'has' | 'isWell'>;
  readonly journal: Pick<Journal, 'note' | 'startedMs'>;
  readonly photographer?: Pick<Photographer, 'allWell' | 'reported' | 'manyProblems'> | undefined;
}

/**
 * Lets the events happen at their times, until the time is over. Each event waits for the pictures of the one before it, so with pictures the play
 * takes longer than its time, and no event is left out.
 */
export async function play(
  world: World,
  parts: Play,
  timetable: readonly WorldEvent[] = TIMETABLE,
): Promise<void> {
  const { minutes, speed, stopped, watch, photographer, journal } = parts;
  await rest(ALL_WELL_MINUTE, parts);
  if (photographer) {
    const isCalm = () => world.services.isAllListed() && world.destinations.hasSome && watch.isWell;
    await until('everything is well', () => isCalm() || stopped.aborted, REPORTED_MS);
    if (!stopped.aborted) await photographer.allWell();
  }
  const due = timetable.filter(({ minute }) => minute / speed < minutes);
  const last = due.findLast(({ trouble }) => trouble);
  for (const event of due) {
    await rest(event.minute, parts);
    if (stopped.aborted) return;
    journal.note('world', event.what);
    await event.happen(world);
    if (event.trouble && photographer)
      await takePictures(event.trouble, event === last, { ...parts, photographer });
  }
  await rest(Number.POSITIVE_INFINITY, parts);
}

/** Takes the pictures of a problem once leadsync reports it, and after the last one those of all problems together. */
async function takePictures(
  trouble: Trouble,
  isLast: boolean,
  { stopped, watch, photographer }: Play & Required<Pick<Play, 'photographer'>>,
): Promise<void> {
  await until('leadsync reports the problem', () => watch.has(trouble) || stopped.aborted, REPORTED_MS);
  if (stopped.aborted) return;
  await photographer?.reported(trouble);
  if (isLast) await photographer?.manyProblems();
}

/** Waits for a minute of the timetable, or until the time is over. */
async function rest(minute: number, { minutes, speed, stopped, journal }: Play): Promise<void> {
  const untilMs = Math.min(minute / speed, minutes) * 60_000;
  const ms = journal.startedMs + untilMs - performance.now();
  await sleep(Math.max(0, ms), undefined, { signal: stopped }).catch(() => {
    // It was stopped.
  });
}
