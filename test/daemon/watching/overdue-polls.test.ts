import { expect, test } from 'vitest';
import { OverduePolls } from '../../../src/daemon/watching/overdue-polls.ts';

const at = (time: string) => new Date(`2026-11-20T${time}:00.000Z`);
const hourly = { cron: '0 * * * *', timezone: 'UTC' };
const late = { cron: '30 12 * * *', timezone: 'UTC' };

test('a source is overdue since its schedule first asked for a poll after the last complete one', () => {
  const overdue = new OverduePolls();
  expect(overdue.since('main', hourly, at('10:05'), at('10:59'))).toBeUndefined();
  expect(overdue.since('main', hourly, at('10:05'), at('11:20'))).toEqual(at('11:00'));
  expect(overdue.since('main', hourly, at('10:05'), at('15:20'))).toEqual(at('11:00'));
  expect(overdue.since('main', hourly, at('15:01'), at('15:20'))).toBeUndefined();
});

test('a result for another schedule or another source is not used', () => {
  const overdue = new OverduePolls();
  expect(overdue.since('main', hourly, at('10:05'), at('12:20'))).toEqual(at('11:00'));
  expect(overdue.since('main', late, at('10:05'), at('12:40'))).toEqual(at('12:30'));
  expect(overdue.since('other', hourly, at('12:05'), at('12:40'))).toBeUndefined();
});

test('a result from before the clock was set back is not used', () => {
  const overdue = new OverduePolls();
  expect(overdue.since('main', hourly, at('10:05'), at('10:50'))).toBeUndefined();
  expect(overdue.since('main', hourly, at('10:05'), at('10:20'))).toBeUndefined();
  expect(overdue.since('main', hourly, at('10:05'), at('11:20'))).toEqual(at('11:00'));
  expect(overdue.since('main', hourly, at('10:05'), at('10:30'))).toBeUndefined();
  expect(overdue.since('main', late, at('10:05'), at('12:20'))).toBeUndefined();
  expect(overdue.since('main', late, at('10:05'), at('12:10'))).toBeUndefined();
});

test('an interval is counted from the last complete poll', () => {
  const overdue = new OverduePolls();
  expect(overdue.since('main', { everyMs: 60_000 }, at('10:05'), at('10:05'))).toBeUndefined();
  expect(overdue.since('main', { everyMs: 60_000 }, at('10:05'), at('11:00'))).toEqual(at('10:06'));
});

test('a schedule that seldom asks is not looked through again and again', () => {
  const overdue = new OverduePolls();
  const yearly = { cron: '0 0 1 1 *', timezone: 'UTC' };
  overdue.since('main', yearly, at('10:05'), new Date('2026-12-28T00:00:00.000Z'));
  const startMs = performance.now();
  for (let look = 1; look <= 100; look += 1)
    overdue.since(
      'main',
      yearly,
      at('10:05'),
      new Date(Date.parse('2026-12-28T00:00:00.000Z') + look * 15_000),
    );
  // Looked through from the start each time, it would be about half a minute.
  expect(performance.now() - startMs).toBeLessThan(2_000);
});
