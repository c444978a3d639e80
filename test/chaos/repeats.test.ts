import { expect, test } from 'vitest';
import { countOf, repeatsIn, type Troubles } from './repeats.ts';
import type { WatchedRequest } from './watched-receiver.ts';

const TIMEOUT_MS = 2_000;
const QUIET: Troubles = { ends: [], frozen: [], unwritable: [], unanswered: new Map(), lostMs: new Map() };
const NAME = 'crm:main:5:1:abcdef01';

/** How a request is answered. Times are in ms after its arrival. */
interface Answered {
  readonly after?: number;
  readonly endedAfter?: number;
  readonly lost?: boolean;
  readonly sentMs?: number;
  readonly status?: number;
  readonly body?: string;
}

function request(atMs: number, how: Answered = {}): WatchedRequest {
  const { after = 10, endedAfter = after, lost = false, sentMs = atMs, status = 204, body = '{}' } = how;
  const headers = { 'webhook-id': NAME };
  return {
    request: { method: 'POST', path: '/', headers, body: Buffer.from(body), at: new Date(atMs), status },
    sentMs,
    atMs,
    answeredMs: lost ? undefined : atMs + after,
    endedMs: atMs + endedAfter,
  };
}

/** Returns what excuses a repeat of a request that arrived at 10 s; undefined if nothing does. */
function excuse(
  againMs: number,
  troubles: Partial<Troubles> = {},
  first: WatchedRequest = request(10_000),
): string | undefined {
  const repeats = repeatsIn([first, request(againMs)], { ...QUIET, ...troubles }, TIMEOUT_MS);
  expect(countOf(repeats)).toBe(1);
  return [...repeats.excused.keys()][0];
}

const killedAt = (atMs: number) => ({ ends: [{ atMs, inOrder: false }] });
const stoppedAt = (atMs: number) => ({ ends: [{ atMs, inOrder: true }] });
const frozen = (fromMs: number, toMs: number) => ({ frozen: [{ fromMs, toMs }] });
const unwritable = (fromMs: number, toMs: number) => ({ unwritable: [{ fromMs, toMs }] });

test('a repeat without a reason is reported with the lead, the id and the times', () => {
  const { excused, unexcused } = repeatsIn([request(10_000), request(10_040)], QUIET, TIMEOUT_MS);
  expect(excused.size).toBe(0);
  expect(unexcused).toEqual([
    `crm: main:5 came at 00:00:10.000, was answered 10 ms later, and came again at 00:00:10.040 (${NAME})`,
  ]);
});

test('a delivery that the receiver did not accept is not a repeat', () => {
  const requests = [request(10_000, { status: 500 }), request(11_000), request(12_000, { status: 422 })];
  expect(countOf(repeatsIn(requests, QUIET, TIMEOUT_MS))).toBe(0);
});

test('each lead of a batch is checked separately, whichever batch repeats it', () => {
  const batch = (...ids: string[]) => JSON.stringify({ events: ids.map((id) => ({ id })) });
  const requests = [
    request(10_000, { body: batch('crm:main:1:1:a', 'crm:main:2:1:a') }),
    request(11_000, { body: batch('crm:main:2:1:a', 'crm:main:3:1:a') }),
  ];
  const { unexcused } = repeatsIn(requests, QUIET, TIMEOUT_MS);
  expect(unexcused).toEqual([expect.stringContaining('(crm:main:2:1:a)')]);
});

test('every repeat needs its own excuse', () => {
  const requests = [request(10_000), request(13_000), request(13_040)];
  const { excused, unexcused } = repeatsIn(requests, { ...QUIET, ...killedAt(10_020) }, TIMEOUT_MS);
  expect([...excused]).toEqual([['its process was killed', 1]]);
  expect(unexcused).toHaveLength(1);
});

test('an interrupted answer excuses a repeat at any later time', () => {
  expect(excuse(60_000, {}, request(10_000, { lost: true }))).toBe('its answer was lost');
});

test.each([
  ['while it was under way', killedAt(10_005), 'its process was killed'],
  ['before its attempt was settled', killedAt(10_400), 'its process was killed'],
  ['long after it was answered', killedAt(10_600), undefined],
  ['before it came', killedAt(9_400), undefined],
  ['after it came again', killedAt(14_000), undefined],
  ['in order', stoppedAt(10_100), undefined],
])(
  'a kill or stop excuses a repeat only if it interrupted the attempt: a process that ended %s',
  (_, troubles, why) => expect(excuse(13_000, troubles)).toBe(why),
);

test('a kill that lost the attempt, as the ledger says, excuses a repeat however busy the machine was', () => {
  const lostMs = new Map([[NAME, 12_000]]);
  expect(excuse(13_000, { ...killedAt(11_500), lostMs })).toBe('its process was killed');
  expect(excuse(13_000, { ...killedAt(11_500), lostMs: new Map([[NAME, 13_500]]) })).toBeUndefined();
  expect(excuse(13_000, { lostMs })).toBeUndefined();
});

test('a process that was killed after the repeat excuses nothing, however soon', () => {
  expect(excuse(10_040, killedAt(10_600))).toBeUndefined();
});

test.each([
  ['head went out when the timeout had passed', { after: 2_000 }, 'it was answered too late'],
  ['head went out in time', { after: 1_900 }, undefined],
  ['head went out in time, and its end did not', { after: 5, endedAfter: 3_000 }, undefined],
  ['request was sent long before it came', { after: 1_100, sentMs: 9_000 }, 'it was answered too late'],
])('a repeat is excused only if its answer was late: an answer whose %s', (_, how, why) =>
  expect(excuse(14_000, {}, request(10_000, how))).toBe(why),
);

test.each([
  ['before the answer, after its timeout', { fromMs: 8_500, toMs: 10_500 }, 'it was answered too late'],
  ['after the answer', { fromMs: 8_500, toMs: 11_100 }, undefined],
  ['before its timeout', { fromMs: 9_000, toMs: 10_500 }, undefined],
  ['before the request was sent', { fromMs: 7_000, toMs: 9_900 }, undefined],
])(
  'an attempt that leadsync ended without an answer excuses a repeat only if it ended in time: %s',
  (_, spell, why) => {
    const unanswered = new Map([[NAME, [spell]]]);
    expect(excuse(11_500, { unanswered }, request(10_000, { after: 1_000 }))).toBe(why);
  },
);

test('a kill excuses a repeat of a request that the receiver noticed only after the kill', () => {
  expect(excuse(13_000, killedAt(8_800), request(10_000, { sentMs: 8_500 }))).toBe('its process was killed');
  expect(excuse(13_000, killedAt(8_400), request(10_000, { sentMs: 8_500 }))).toBeUndefined();
});

test('the timeout excuses no repeat before it has passed', () => {
  expect(excuse(11_900, {}, request(10_000, { after: 2_500 }))).toBeUndefined();
  expect(excuse(11_900, frozen(10_005, 14_000))).toBeUndefined();
});

test.each([
  ['until the timeout had passed', frozen(9_000, 12_100), 'its process stood still'],
  [
    'from just after the answer until the timeout had passed',
    frozen(10_200, 12_100),
    'its process stood still',
  ],
  ['for a moment', frozen(9_900, 11_000), undefined],
  ['long after the answer', frozen(10_700, 20_000), undefined],
  ['before the answer', frozen(7_000, 9_900), undefined],
])(
  'a freeze excuses a repeat only if it lasted past the timeout: a process that stood still %s',
  (_, troubles, why) => expect(excuse(21_000, troubles)).toBe(why),
);

test.each([
  ['is killed meanwhile', { ...unwritable(9_000, 12_000), ...killedAt(11_500) }, 'its process was killed'],
  [
    'is killed before it asks again',
    { ...unwritable(9_000, 12_000), ...killedAt(12_900) },
    'its process was killed',
  ],
  ['is killed long after that', { ...unwritable(9_000, 12_000), ...killedAt(13_100) }, undefined],
  [
    'stops meanwhile',
    { ...unwritable(9_000, 12_000), ...stoppedAt(11_500) },
    'its process stopped without its ledger',
  ],
  ['resumes', unwritable(9_000, 12_000), undefined],
])(
  'a ledger that cannot be written to excuses a repeat only if the process ended meanwhile: a process that cannot settle and %s',
  (_, troubles, why) => expect(excuse(14_000, troubles)).toBe(why),
);

test('a process that could not write to the ledger until the repeat excuses it', () => {
  expect(excuse(12_300, unwritable(9_000, 12_000))).toBe('its ledger was out of reach');
  expect(excuse(12_300, unwritable(11_000, 12_000))).toBeUndefined();
});
