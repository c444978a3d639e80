import { expect, test } from 'vitest';
import { RecentLines } from '../../src/telemetry/recent-lines.ts';

const line = (level: 'info' | 'warn' | 'error', message: string) => ({
  at: new Date('2026-11-21T10:00:00Z'),
  level,
  event: 'sink-held',
  message,
});

test('routine lines push out neither a warning nor an error, and all lines stay in order', () => {
  const lines = new RecentLines(3);
  lines.add(line('warn', 'begins'));
  for (const no of [1, 2, 3, 4, 5]) lines.add(line('info', `routine ${no}`));
  lines.add(line('error', 'goes on'));
  lines.add(line('info', 'routine 6'));
  const messages = lines.newestFirst().map(({ message }) => message);
  expect(messages).toEqual(['routine 6', 'goes on', 'routine 5', 'routine 4', 'begins']);
});

test('of warnings and errors, the last are kept', () => {
  const lines = new RecentLines(2);
  for (const no of [1, 2, 3]) lines.add(line('warn', `warning ${no}`));
  expect(lines.newestFirst().map(({ message }) => message)).toEqual(['warning 3', 'warning 2']);
});
