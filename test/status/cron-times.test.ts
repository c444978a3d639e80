import { createTask } from 'node-cron';
import { expect, test } from 'vitest';
import { nextCronTime } from '../../src/status/cron-times.ts';

const BERLIN = 'Europe/Berlin';

test.each([
  ['*/5 * * * *', 'UTC', '2026-11-20T10:00:00.000Z', '2026-11-20T10:05:00.000Z'],
  ['*/5 * * * *', 'UTC', '2026-11-20T10:04:59.999Z', '2026-11-20T10:05:00.000Z'],
  ['* * * * * *', 'UTC', '2026-11-20T10:14:59.400Z', '2026-11-20T10:15:00.000Z'],
  ['30 15 8 * * *', 'Asia/Kathmandu', '2026-11-20T10:00:00.000Z', '2026-11-21T02:30:30.000Z'],
  ['@daily', BERLIN, '2026-11-20T10:00:00.000Z', '2026-11-20T23:00:00.000Z'],
  ['0 9 * * mon', 'Australia/Sydney', '2026-11-20T10:00:00.000Z', '2026-11-22T22:00:00.000Z'],
  ['0 0 L * *', 'UTC', '2026-11-20T10:00:00.000Z', '2026-11-30T00:00:00.000Z'],
  ['0 0 13 * 5', 'UTC', '2026-11-20T10:00:00.000Z', '2027-08-13T00:00:00.000Z'],
  ['0 0 29 2 *', 'UTC', '2096-03-01T00:00:00.000Z', '2104-02-29T00:00:00.000Z'],
  // The clocks leave 02:30 out, and show it twice.
  ['30 2 * * *', BERLIN, '2026-03-28T01:30:00.000Z', '2026-03-29T01:00:00.000Z'],
  ['30 2 * * *', BERLIN, '2026-03-29T01:00:00.000Z', '2026-03-30T00:30:00.000Z'],
  ['30 2 * * *', BERLIN, '2026-10-24T00:30:00.000Z', '2026-10-25T00:30:00.000Z'],
  ['30 2 * * *', BERLIN, '2026-10-25T00:30:00.000Z', '2026-10-25T01:30:00.000Z'],
  ['*/20 * * * *', BERLIN, '2026-10-25T00:40:00.000Z', '2026-10-25T01:00:00.000Z'],
  ['*/20 * * * *', BERLIN, '2026-03-29T00:40:00.000Z', '2026-03-29T01:00:00.000Z'],
  // Here the day begins at 01:00, and there the clocks move by half an hour.
  ['0 0 * * *', 'Africa/Cairo', '2026-04-23T12:00:00.000Z', '2026-04-23T22:00:00.000Z'],
  ['15 2 * * *', 'Australia/Lord_Howe', '2026-10-03T12:00:00.000Z', '2026-10-03T15:30:00.000Z'],
])('%s in %s is due after %s at %s', (cron, timezone, after, due) => {
  expect(nextCronTime({ cron, timezone }, new Date(after))?.toISOString()).toBe(due);
});

test('a time after the limit, or one that never comes, is undefined', () => {
  const hourly = { cron: '0 * * * *', timezone: 'UTC' };
  const [from, until] = [new Date('2026-11-20T10:00:00.000Z'), new Date('2026-11-20T11:00:00.000Z')];
  expect(nextCronTime(hourly, from, until)).toEqual(until);
  expect(nextCronTime(hourly, from, new Date(until.getTime() - 1))).toBeUndefined();
  expect(nextCronTime({ cron: '0 0 29 2 1#1', timezone: 'UTC' }, from)).toBeUndefined();
});

test.each(['7 3,5 * * 1-5', '*/17 10-12 1,15 * *', '0 0 * * 5L', '30 4 15W * *'])(
  'the times of %s are those at which node-cron says that it matches',
  (cron) => {
    const timezone = 'America/New_York'; // no change of the clocks in these weeks
    const task = createTask(cron, () => undefined, { timezone });
    const [from, until] = [Date.parse('2026-11-20T10:00:30.000Z'), Date.parse('2026-12-20T10:00:00.000Z')];
    const expected: string[] = [];
    for (let ms = from - (from % 60_000) + 60_000; ms <= until; ms += 60_000)
      if (task.match(new Date(ms))) expected.push(new Date(ms).toISOString());
    void task.destroy();
    const found: string[] = [];
    let next = nextCronTime({ cron, timezone }, new Date(from), new Date(until));
    for (; next; next = nextCronTime({ cron, timezone }, next, new Date(until)))
      found.push(next.toISOString());
    expect(found).toEqual(expected);
  },
);
