import { expect, test } from 'vitest';
import type { Event } from '../../src/telemetry/events.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { anEvent } from './an-event.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const DAY = 24 * 60 * MINUTE;

/** A log whose time the test moves. */
class Log {
  readonly lines: Record<string, unknown>[] = [];
  #nowMs = 0;
  #later: { atMs: number; work: () => void }[] = [];
  readonly #logger = createLogger({
    level: 'info',
    format: 'json',
    stream: { write: (line) => void this.lines.push(JSON.parse(line)) },
    time: {
      monotonicMs: () => this.#nowMs,
      later: (ms, work) => void this.#later.push({ atMs: this.#nowMs + ms, work }),
    },
  });

  pass(ms: number): void {
    const endMs = this.#nowMs + ms;
    for (;;) {
      const [next] = this.#later.filter(({ atMs }) => atMs <= endMs).sort((a, b) => a.atMs - b.atMs);
      if (!next) break;
      this.#later.splice(this.#later.indexOf(next), 1);
      this.#nowMs = next.atMs;
      next.work();
    }
    this.#nowMs = endMs;
  }

  event(event: Event): void {
    this.#logger.event(event);
  }

  fault(doing: string, error: unknown): void {
    this.#logger.fault(doing, error);
  }

  get messages(): string[] {
    return this.lines.map((line) => String(line['msg']));
  }
}

const down = (reason = 'Redis cannot be reached (ECONNREFUSED).') =>
  anEvent('carrier-unavailable', { reason });

test('a failure every second for a day is logged a few times, then once a minute with its count', () => {
  const log = new Log();
  for (let second = 0; second < DAY / SECOND; second += 1) {
    log.event(anEvent('ledger-failed', { operation: `settling batch b${second} of crm` }));
    log.pass(SECOND);
  }
  expect(log.lines.length).toBeGreaterThan(1_000);
  expect(log.lines.length).toBeLessThan(2_000);
  expect(log.lines[0]?.['more']).toBeUndefined();
  const told = log.lines.reduce((sum, { more }) => sum + 1 + Number(more ?? 0), 0);
  expect(told).toBeGreaterThan(DAY / SECOND - 80);
  expect(log.messages.at(-1)).toMatch(/Free some space\. \d+ similar lines were left out\.$/);
});

test('another failure is logged immediately, however many of the first are left out', () => {
  const log = new Log();
  for (let n = 0; n < 100; n += 1) log.event(anEvent('batch-settled', { reason: 'It answered 503.' }));
  expect(log.lines).toHaveLength(5);
  log.event(anEvent('batch-settled', { reason: 'It answered 401.' }));
  log.event(anEvent('batch-settled', { sink: 'drop', reason: 'It answered 503.' }));
  log.event(anEvent('sink-held', { reason: 'It answered 503.' }));
  expect(log.lines).toHaveLength(8);
});

test('each dead lead is logged, however many there are', () => {
  const log = new Log();
  for (let lead = 0; lead < 100; lead += 1) log.event(anEvent('delivery-dead', { lead: String(lead) }));
  expect(log.lines).toHaveLength(100);
});

test('a state that changes back and forth is logged so that the log ends with the present state', () => {
  const log = new Log();
  for (let round = 0; round < 1_000; round += 1) {
    log.event(down());
    log.event(anEvent('carrier-recovered', { downMs: 500 }));
    log.pass(SECOND);
  }
  log.event(down());
  log.pass(2 * MINUTE);
  expect(log.lines.length).toBeLessThan(60);
  expect(log.lines.at(-1)).toMatchObject({ event: 'carrier-unavailable' });
});

test('an earlier state of a sink is not logged after a later one', () => {
  const log = new Log();
  const held = (reason: string) => anEvent('sink-held', { sink: 'crm', reason });
  for (let round = 0; round < 7; round += 1) {
    log.event(held('It answered with HTTP 429.'));
    log.event(round < 6 ? held('It hangs.') : anEvent('sink-recovered', { sink: 'crm' }));
    log.pass(SECOND);
  }
  log.pass(10 * MINUTE);
  expect(log.lines.at(-1)).toMatchObject({ event: 'sink-recovered' });
});

test('the count of omitted lines is logged at the end, before the line that leadsync stops', () => {
  const log = new Log();
  for (let n = 0; n < 9; n += 1) log.event(down());
  log.event(anEvent('stopping'));
  expect(log.messages.slice(-2)).toEqual([
    expect.stringMatching(/3 similar lines were left out\.$/),
    expect.stringMatching(/^Stopping/),
  ]);
});

test('a failure that returns after a quiet hour is logged immediately', () => {
  const log = new Log();
  for (let n = 0; n < 50; n += 1) log.event(down());
  log.pass(60 * MINUTE);
  const before = log.lines.length;
  log.event(down());
  expect(log.lines).toHaveLength(before + 1);
});

test('a fault every second does not fill the log, and another fault is logged immediately', () => {
  const log = new Log();
  const [one, other] = [new TypeError('a'), new RangeError('b')];
  for (let n = 0; n < 3_600; n += 1) {
    log.fault('polling main', one);
    log.pass(SECOND);
  }
  expect(log.lines.length).toBeLessThan(80);
  log.fault('polling main', other);
  expect(log.lines.at(-1)).toMatchObject({ error: 'RangeError' });
});

test('texts that always differ take bounded memory, and each of them is logged', () => {
  const log = new Log();
  const name = (n: number) => [...String(n)].map((digit) => 'abcdefghij'[Number(digit)]).join('');
  for (let n = 0; n < 5_000; n += 1) log.event(anEvent('sink-held', { reason: `It said ${name(n)}.` }));
  expect(log.lines).toHaveLength(5_000);
});
