import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { play } from '../../scripts/world/play.ts';
import type { World, WorldEvent } from '../../scripts/world/timetable.ts';

const WORLD = { services: { isAllListed: () => true }, destinations: { hasSome: true } } as World;
/** Less time than a picture of `photographer` takes. */
const SHORT = { minutes: 0.001, speed: 60 };
const PICTURE_MS = 100;

/** A timetable of two problems, and what happens when it is played. `take` is called before each picture. */
function aPlay(take: () => void = () => {}) {
  const happened: string[] = [];
  const started = performance.now();
  const stopped = new AbortController();
  const picture = (name: string) => async () => {
    take();
    while (performance.now() < started + PICTURE_MS) await setImmediate();
    happened.push(`picture: ${name}`);
  };
  const timetable: WorldEvent[] = ['first', 'second'].map((what, minute) => ({
    minute: minute / 1000,
    what,
    happen: () => {},
    trouble: { code: 'sink_held', about: what },
  }));
  const parts = {
    ...SHORT,
    stopped: stopped.signal,
    watch: { has: () => true, isWell: true },
    journal: { startedMs: started, note: (_: string, text: string) => void happened.push(text) },
    photographer: {
      allWell: picture('all well'),
      reported: picture('reported'),
      manyProblems: picture('many problems'),
    },
  };
  return { happened, parts, timetable, stop: () => stopped.abort() };
}

test('no event is left out because the pictures before it took longer than the time', async () => {
  const { happened, parts, timetable } = aPlay();
  await play(WORLD, parts, timetable);
  expect(happened).toEqual([
    'picture: all well',
    'first',
    'picture: reported',
    'second',
    'picture: reported',
    'picture: many problems',
  ]);
});

test('without pictures, nothing waits for a problem to be reported', async () => {
  const { happened, parts, timetable } = aPlay();
  await play(
    WORLD,
    { ...parts, watch: { has: () => false, isWell: false }, photographer: undefined },
    timetable,
  );
  expect(happened).toEqual(['first', 'second']);
});

test('a stop ends the play before the next event', async () => {
  const { happened, parts, timetable, stop } = aPlay(() => stop());
  await play(WORLD, parts, timetable);
  expect(happened).toEqual(['picture: all well']);
});
