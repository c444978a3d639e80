import { expect, test } from 'vitest';
import { NextPolls } from '../../src/status/next-poll.ts';

const at = (time: string) => new Date(`2026-11-${time}:00.000Z`);
const office = { cron: '*/5 9-17 * * 1-5', timezone: 'UTC' };

test('after the last poll of a Friday, the next one is due on Monday', () => {
  const polls = new NextPolls();
  expect(polls.after('main', office, at('20T17:50'))).toEqual(at('20T17:55'));
  expect(polls.after('main', office, at('20T17:55'))).toEqual(at('23T09:00'));
});

test('an interval is counted from the last complete poll, and another schedule asks for another time', () => {
  const polls = new NextPolls();
  expect(polls.after('main', { everyMs: 60_000 }, at('20T10:05'))).toEqual(at('20T10:06'));
  expect(polls.after('main', office, at('20T10:05'))).toEqual(at('20T10:10'));
  expect(polls.after('other', { everyMs: 60_000 }, at('20T11:00'))).toEqual(at('20T11:01'));
});

test('a schedule that never matches again never makes a poll late', () => {
  const never = { cron: '0 0 29 2 1', timezone: 'UTC' };
  expect(new NextPolls().after('main', never, at('20T10:05')).getUTCFullYear()).toBeGreaterThan(100_000);
});
