import type { Spell } from './deed.ts';
import type { WatchedRequest } from './watched-receiver.ts';

/**
 * So much later than it happened is anything seen here, in ms: the receiver and whoever watches the processes share one
 * thread. So long after its answer is an attempt settled, too, by a leadsync that nothing hinders.
 */
const SEEN_WITHIN_MS = 500;

/** So long after a full disk has room again is it asked again to settle, in ms: as often as `deliverBatch` asks. */
const ASKED_AGAIN_MS = 500;

/** What was done to leadsync. Times are by `performance.now()`. */
export interface Troubles {
  /** When its processes ended, and whether in order: by a SIGTERM that they obeyed. */
  readonly ends: readonly { readonly atMs: number; readonly inOrder: boolean }[];
  /** When one of them stood still. */
  readonly frozen: readonly Spell[];
  /** When the ledger's disk was full. */
  readonly full: readonly Spell[];
}

/** How often a webhook was given what it had taken before. */
export interface Repeats {
  /** By what excuses them. */
  readonly excused: ReadonlyMap<Excuse, number>;
  /** Those that nothing excuses, in words. */
  readonly unexcused: readonly string[];
}

/**
 * What lets a delivery that was taken arrive once more:
 * - its answer was lost: the receiver cut the connection and said nothing. For good: leadsync cannot know.
 * - it was answered too late: the head of the answer went out when the sink's `timeout` had passed since the second in
 *   which the request says that it was sent.
 * - its process stood still: the answer went out in time, and a process was frozen before it can have been read, until that
 *   `timeout` had passed.
 * - its process was killed: after the request came, and before its attempt was settled. That is `SEEN_WITHIN_MS` after the
 *   answer's end, or after the frozen process goes on, or the full disk has room, that kept it from being settled.
 * - its process stopped on a full disk: as before, but it stopped in order, while that disk kept it from settling.
 *
 * A request does not say which process sent it, so a trouble counts, whichever process has it.
 */
export type Excuse =
  | 'its answer was lost'
  | 'it was answered too late'
  | 'its process stood still'
  | 'its process was killed'
  | 'its process stopped on a full disk';

/**
 * Judges what a receiver took more than once, under the same name, by what was done meanwhile. `timeoutMs` is the sink's: how
 * long a request is given for its answer.
 */
export function repeatsIn(
  requests: readonly WatchedRequest[],
  troubles: Troubles,
  timeoutMs: number,
): Repeats {
  const excused = new Map<Excuse, number>();
  const unexcused: string[] = [];
  for (const { delivery, first, again } of takenAgain(requests)) {
    const excuse = excuseOf(first, again.atMs, troubles, timeoutMs);
    if (excuse) excused.set(excuse, (excused.get(excuse) ?? 0) + 1);
    else unexcused.push(unexcusedText(delivery, first, again));
  }
  return { excused, unexcused };
}

/** How many repeats that are. */
export function countOf({ excused, unexcused }: Repeats): number {
  return [...excused.values()].reduce((sum, count) => sum + count, unexcused.length);
}

/** A delivery that was taken, and taken once more by the next request that brought it. */
interface TakenAgain {
  readonly delivery: string;
  readonly first: WatchedRequest;
  readonly again: WatchedRequest;
}

function takenAgain(requests: readonly WatchedRequest[]): TakenAgain[] {
  const last = new Map<string, WatchedRequest>();
  const taken = requests.filter(({ request: { status = 0 } }) => status >= 200 && status <= 299);
  return taken.flatMap((again) =>
    deliveriesIn(again).flatMap((delivery) => {
      const first = last.get(delivery);
      last.set(delivery, again);
      return first ? [{ delivery, first, again }] : [];
    }),
  );
}

/** The names of the deliveries in a request: a batch names each, and without a batch the request has the name. */
function deliveriesIn({ request: { body, headers } }: WatchedRequest): string[] {
  const { events } = JSON.parse(body.toString()) as { events?: readonly { readonly id: string }[] };
  return events?.map(({ id }) => id) ?? [String(headers['webhook-id'])];
}

function excuseOf(
  first: WatchedRequest,
  againMs: number,
  troubles: Troubles,
  timeoutMs: number,
): Excuse | undefined {
  const { answeredMs, endedMs, atMs, sentMs } = first;
  if (answeredMs === undefined) return 'its answer was lost';
  const lateMs = sentMs + timeoutMs;
  // Nobody gives up before the deadline, so what comes again before it has another reason.
  if (againMs >= lateMs && answeredMs >= lateMs) return 'it was answered too late';
  if (againMs >= lateMs && goingOnAt(answeredMs, troubles.frozen) >= lateMs) return 'its process stood still';
  const { settledMs, wasFull } = settlingOf(endedMs ?? answeredMs, troubles);
  const ended = troubles.ends.filter(({ atMs: endMs }) =>
    isWithin(endMs, atMs - SEEN_WITHIN_MS, Math.min(settledMs, againMs) + SEEN_WITHIN_MS),
  );
  if (ended.some(({ inOrder }) => !inOrder)) return 'its process was killed';
  return wasFull && ended.length > 0 ? 'its process stopped on a full disk' : undefined;
}

/** When an attempt is settled that is ready to be so at that time, by what is known, and whether a full disk hindered it. */
function settlingOf(readyMs: number, { frozen, full }: Troubles): { settledMs: number; wasFull: boolean } {
  const fullUntilAsked = full.map(({ fromMs, toMs }) => ({ fromMs, toMs: toMs + ASKED_AGAIN_MS }));
  let settledMs = readyMs;
  let wasFull = false;
  for (;;) {
    const roomMs = goingOnAt(settledMs, fullUntilAsked);
    const later = goingOnAt(roomMs, frozen);
    wasFull ||= roomMs > settledMs;
    if (later === settledMs) return { settledMs, wasFull };
    settledMs = later;
  }
}

/** When it goes on with what it was about to do at that time: then, unless it was hindered. */
function goingOnAt(ms: number, hindrances: readonly Spell[]): number {
  const hindering = hindrances.filter(({ fromMs, toMs }) => fromMs <= ms + SEEN_WITHIN_MS && toMs > ms);
  return Math.max(ms, ...hindering.map(({ toMs }) => toMs));
}

function isWithin(ms: number, fromMs: number, toMs: number): boolean {
  return ms >= fromMs && ms <= toMs;
}

/** `crm: main:5 came at … and at …`, by the clock. */
function unexcusedText(delivery: string, first: WatchedRequest, again: WatchedRequest): string {
  const [, source, lead] = delivery.split(':');
  const timeOf = ({ request: { at } }: WatchedRequest) => at.toISOString().slice(11, 23);
  const answered = ((first.answeredMs ?? first.atMs) - first.atMs).toFixed(0);
  return `crm: ${source}:${lead} came at ${timeOf(first)}, was answered ${answered} ms later, and came again at ${timeOf(again)} (${delivery})`;
}
