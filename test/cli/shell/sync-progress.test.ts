import { expect, test } from 'vitest';
import { Progress } from '../../../src/cli/shell/sync-progress.ts';

/** A terminal, or a file, that keeps what is written to it. */
function aStream(isTTY: boolean) {
  const written: string[] = [];
  return { isTTY, written, write: (text: string) => written.push(text) };
}

const progressEvent = (source: string, listed: number) =>
  ({ type: 'poll-progress', source, poll: 1, listed, recorded: listed / 2, leadsPerSecond: 100 }) as const;

test('shows on a terminal leads per second, what is done and what is pending, in one line', () => {
  const stream = aStream(true);
  let ms = 0;
  const progress = new Progress(stream, () => ms);
  ms = 1_000;
  progress.observe(progressEvent('main', 1_000));
  expect(stream.written).toEqual(['1000 listed, 500 new or changed, 100 leads/s, 0 delivered']);
  progress.write('a line of the log\n');
  expect(stream.written.slice(1, 3)).toEqual(['\r\u001b[K', 'a line of the log\n']);
  expect(stream.written[3]).toBe(stream.written[0]);
  progress.end();
  expect(stream.written.at(-1)).toBe('\n');
});

test('prints the pending deliveries that it gets', () => {
  const stream = aStream(false);
  let ms = 0;
  const progress = new Progress(stream, () => ms);
  ms = 60_000;
  progress.pending(7);
  expect(stream.written).toEqual(['0 listed, 0 new or changed, 0 delivered, 7 pending\n']);
});

test('writes few, plain lines without a terminal', () => {
  const stream = aStream(false);
  let ms = 0;
  const progress = new Progress(stream, () => ms);
  for (; ms <= 60_000; ms += 100) progress.observe(progressEvent('main', ms));
  expect(stream.written).toHaveLength(6);
  expect(stream.written[0]).toMatch(/^[ -~]+\n$/);
});
