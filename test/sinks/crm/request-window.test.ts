import fc from 'fast-check';
import { expect, test } from 'vitest';
import { RequestWindow } from '../../../src/sinks/crm/request-window.ts';
import { HeldClock, rest } from '../../support/time/held-clock.ts';

const NEVER = new AbortController().signal;
const LIMIT = { requests: 5, perMs: 1_000 };

/** A request: when it is wanted, how long its answer takes, and after which share of that the service counts it. */
interface Wanted {
  readonly atMs: number;
  readonly latencyMs: number;
  readonly share: number;
}

const wanted: fc.Arbitrary<Wanted[]> = fc.array(
  fc.record({
    atMs: fc.nat(4_000),
    latencyMs: fc.oneof(fc.constant(0), fc.nat(900)),
    share: fc.double({ min: 0, max: 1, noNaN: true }),
  }),
  { minLength: 1, maxLength: 40, size: 'max' },
);

test('the service never counts more requests than it allows, whenever they are made and however long they take', async () => {
  await fc.assert(
    fc.asyncProperty(wanted, async (requests) => {
      const { arrivals } = await run(requests);
      expect(arrivals).toHaveLength(requests.length);
      for (const [at, arrival] of arrivals.entries())
        if (at >= LIMIT.requests)
          expect(arrival - (arrivals[at - LIMIT.requests] ?? 0)).toBeGreaterThan(LIMIT.perMs);
    }),
    { numRuns: 60 },
  );
});

test('requests with immediate answers take at most 5% longer than the limit requires', async () => {
  const { arrivals } = await run(Array.from({ length: 60 }, () => ({ atMs: 0, latencyMs: 0, share: 0 })));
  const allowedMs = (60 / LIMIT.requests - 1) * LIMIT.perMs;
  expect(arrivals.at(-1)).toBeLessThan(allowedMs * 1.05);
});

test('a service without requests left, because others use it, gets none until the period is over', async () => {
  const clock = new HeldClock();
  const window = new RequestWindow(clock, LIMIT);
  (await window.take(NEVER))({ ...LIMIT, remaining: 0 });
  const next = taken(window);
  await clock.pass(LIMIT.perMs);
  expect(next.isTaken).toBe(false);
  await clock.pass(LIMIT.perMs * 0.05);
  expect(next.isTaken).toBe(true);
});

test('requests that another process has just made count as well, before the service has none left', async () => {
  const clock = new HeldClock();
  const window = new RequestWindow(clock, LIMIT);
  (await window.take(NEVER))({ ...LIMIT, remaining: 2 }); // another process has made two of the three
  const next = [taken(window), taken(window), taken(window)];
  await rest();
  expect(next.map(({ isTaken }) => isTaken)).toEqual([true, true, false]);
  await clock.pass(LIMIT.perMs * 1.05);
  expect(next[2]?.isTaken).toBe(true);
});

test('the service never counts more requests than it allows, however many another process has just made', async () => {
  const parts = { others: fc.nat(15), latencies: fc.array(fc.nat(90), { minLength: 80, maxLength: 80 }) };
  await fc.assert(
    fc.asyncProperty(fc.record(parts), async ({ others, latencies }) => {
      const { most, lastAtMs } = await twoAtOnce(others, latencies);
      expect(most).toBeLessThanOrEqual(SHARED_LIMIT.requests);
      // 80 requests and those of the others are at most five periods; a tenth of one is left for requests under way.
      expect(lastAtMs).toBeLessThan(5.5 * SHARED_LIMIT.perMs);
    }),
    { numRuns: 60 },
  );
});

test('a limit that the service changes applies immediately', async () => {
  const clock = new HeldClock();
  const window = new RequestWindow(clock, LIMIT);
  for (let n = 0; n < 2; n += 1) (await window.take(NEVER))();
  (await window.take(NEVER))({ requests: 3, perMs: 2_000, remaining: 0 });
  const next = taken(window);
  await clock.pass(1_900);
  expect(next.isTaken).toBe(false);
  await clock.pass(200);
  expect(next.isTaken).toBe(true);
});

test.each([
  { ...LIMIT, requests: 1e9, remaining: 0 },
  { ...LIMIT, requests: 5.5, remaining: 0 },
  { ...LIMIT, perMs: Number.POSITIVE_INFINITY, remaining: 0 },
])('a limit that no service has is ignored: %o', async (said) => {
  const clock = new HeldClock();
  const window = new RequestWindow(clock, LIMIT);
  (await window.take(NEVER))(said);
  const next = taken(window);
  await rest();
  expect(next.isTaken).toBe(true);
});

test('an abort ends the wait', async () => {
  const clock = new HeldClock();
  const window = new RequestWindow(clock, { requests: 1, perMs: 1_000 });
  await window.take(NEVER);
  const abort = new AbortController();
  const next = taken(window, abort.signal);
  await rest();
  expect(next.isTaken).toBe(false);
  abort.abort();
  await rest();
  expect(next.isTaken).toBe(true);
});

/** Makes requests through a window, and returns when the service counted each, in ms, in ascending order. */
async function run(requests: readonly Wanted[]): Promise<{ readonly arrivals: readonly number[] }> {
  const clock = new HeldClock();
  const window = new RequestWindow(clock, LIMIT);
  const arrivals: number[] = [];
  const made = requests.map(async ({ atMs, latencyMs, share }) => {
    await clock.sleep(atMs);
    const answered = await window.take(NEVER);
    arrivals.push(clock.passedMs + latencyMs * share);
    await clock.sleep(latencyMs);
    answered();
  });
  await clock.pass(4_000 + 2_000 * (1 + requests.length / LIMIT.requests));
  await Promise.all(made);
  return { arrivals: arrivals.sort((a, b) => a - b) };
}

const SHARED_LIMIT = { requests: 20, perMs: 1_000 };

/** Makes requests, at most two at once, of a service that has already counted some of another process. */
async function twoAtOnce(others: number, latencies: readonly number[]) {
  const clock = new HeldClock();
  const window = new RequestWindow(clock, SHARED_LIMIT);
  const arrivals: number[] = Array.from({ length: others }, () => 0);
  let most = 0;
  const arrive = () => {
    arrivals.push(clock.passedMs);
    const counted = arrivals.filter((atMs) => atMs > clock.passedMs - SHARED_LIMIT.perMs).length;
    most = Math.max(most, counted);
    return { ...SHARED_LIMIT, remaining: Math.max(0, SHARED_LIMIT.requests - counted) };
  };
  const waiting = [...latencies];
  const worker = async () => {
    for (let latencyMs = waiting.shift(); latencyMs !== undefined; latencyMs = waiting.shift()) {
      const answered = await window.take(NEVER);
      await clock.sleep(latencyMs / 2);
      const said = arrive();
      await clock.sleep(latencyMs / 2);
      answered(said);
    }
  };
  const workers = Promise.all([worker(), worker()]);
  await clock.pass(12 * SHARED_LIMIT.perMs);
  await workers;
  return { most, lastAtMs: arrivals.at(-1) ?? 0 };
}

function taken(window: RequestWindow, signal = NEVER) {
  const state = { isTaken: false };
  void window.take(signal).then(() => {
    state.isTaken = true;
  });
  return state;
}
