import type { Spell } from './deed.ts';
import type { WatchedRequest } from './watched-receiver.ts';

/**
 * Maximum delay of an observation, in ms: the receiver and the observer of the processes share one thread. An undisturbed leadsync also
 * settles an attempt within this time after the answer.
 */
const SEEN_WITHIN_MS = 500;

/** Maximum time until settling is retried when the ledger can be written to again, in ms: the interval of `deliverBatch`. */
const ASKED_AGAIN_MS = 500;

/** What was done to leadsync. Times are by `performance.now()`. */
export interface Troubles {
  /** When its processes ended, and whether in order: after a SIGTERM that they obeyed. */
  readonly ends: readonly { readonly atMs: number; readonly inOrder: boolean }[];
  /** When one of its processes was frozen. */
  readonly frozen: readonly Spell[];
  /** When the ledger could not be written to: its disk was full, or its server or a line to it was in trouble. */
  readonly unwritable: readonly Spell[];
  /** The attempts that leadsync ended without an answer, by delivery, from their beginning to that end. */
  readonly unanswered: ReadonlyMap<string, readonly Spell[]>;
  /** When leadsync first recorded that an attempt of a delivery was lost with its process, by delivery. */
  readonly lostMs: ReadonlyMap<string, number>;
}

/** How often a webhook received what it had accepted before. */
export interface Repeats {
  /** The number of repeats by excuse. */
  readonly excused: ReadonlyMap<Excuse, number>;
  /** The repeats that nothing excuses, in words. */
  readonly unexcused: readonly string[];
}

/**
 * Why an accepted delivery may arrive again:
 * - its answer was lost: the receiver broke the connection without an answer. Valid at any later time: leadsync cannot know.
 * - it was answered too late: the head of the answer was sent after the sink's `timeout`, counted from the second in which
 *   the request says that it was sent, or after leadsync had ended the attempt, which had begun that `timeout` before.
 * - its process stood still: the answer was sent in time, but a process was frozen from before it can have read the answer
 *   until that `timeout` had passed.
 * - its process was killed: after the request was sent and before its attempt was settled. An attempt is settled
 *   `SEEN_WITHIN_MS` after the end of the answer, or after the frozen process resumes or the ledger can be written to, if that
 *   delayed it. On a busy machine it takes longer: then the ledger has to say that the attempt was lost.
 * - its process stopped without its ledger: as before, but it stopped in order while it could not write to the ledger.
 * - its ledger was out of reach: a process could not write to the ledger from the answer until about the repeat.
 *
 * A request does not say which process sent it, so a trouble of any process counts.
 */
export type Excuse =
  | 'its answer was lost'
  | 'it was answered too late'
  | 'its process stood still'
  | 'its process was killed'
  | 'its process stopped without its ledger'
  | 'its ledger was out of reach';

/**
 * Classifies what a receiver accepted more than once under the same id, by what was done meanwhile.
 * @param timeoutMs the sink's deadline for an answer
 */
export function repeatsIn(
  requests: readonly WatchedRequest[],
  troubles: Troubles,
  timeoutMs: number,
): Repeats {
  const excused = new Map<Excuse, number>();
  const unexcused: string[] = [];
  for (const { delivery, first, again } of takenAgain(requests)) {
    const excuse = excuseOf({ delivery, first, again }, troubles, timeoutMs);
    if (excuse) excused.set(excuse, (excused.get(excuse) ?? 0) + 1);
    else unexcused.push(unexcusedText(delivery, first, again));
  }
  return { excused, unexcused };
}

/** Returns the total number of repeats. */
export function countOf({ excused, unexcused }: Repeats): number {
  return [...excused.values()].reduce((sum, count) => sum + count, unexcused.length);
}

/** A delivery that was accepted, and accepted again in the next request that contained it. */
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

/** Returns the ids of the deliveries in a request: those in its batch, or the request's own id. */
function deliveriesIn({ request: { body, headers } }: WatchedRequest): string[] {
  const { events } = JSON.parse(body.toString()) as { events?: readonly { readonly id: string }[] };
  return events?.map(({ id }) => id) ?? [String(headers['webhook-id'])];
}

function excuseOf(
  { delivery, first, again: { atMs: againMs } }: TakenAgain,
  troubles: Troubles,
  timeoutMs: number,
): Excuse | undefined {
  const { answeredMs, endedMs, atMs, sentMs } = first;
  if (answeredMs === undefined) return 'its answer was lost';
  const lateMs = sentMs + timeoutMs;
  // No sender gives up before the deadline, so an earlier repeat has another reason.
  if (againMs >= lateMs && answeredMs >= lateMs) return 'it was answered too late';
  if (againMs >= lateMs && goingOnAt(answeredMs, troubles.frozen) >= lateMs) return 'its process stood still';
  // A busy process sends its request long after the attempt began, and the timeout counts from there.
  const unanswered = troubles.unanswered.get(delivery) ?? [];
  if (unanswered.some(({ fromMs, toMs }) => toMs - fromMs >= timeoutMs && isWithin(toMs, sentMs, answeredMs)))
    return 'it was answered too late';
  const { settledMs, wasUnwritable } = settlingOf(endedMs ?? answeredMs, troubles);
  // A busy receiver may notice a request long after its process was killed.
  const sinceMs = Math.min(atMs - SEEN_WITHIN_MS, sentMs);
  const isLost = (troubles.lostMs.get(delivery) ?? Number.POSITIVE_INFINITY) <= againMs;
  const untilMs = isLost ? againMs : Math.min(settledMs, againMs) + SEEN_WITHIN_MS;
  const ended = troubles.ends.filter(({ atMs: endMs }) => isWithin(endMs, sinceMs, untilMs));
  if (ended.some(({ inOrder }) => !inOrder)) return 'its process was killed';
  if (wasUnwritable && ended.length > 0) return 'its process stopped without its ledger';
  return wasUnwritable && againMs <= settledMs + SEEN_WITHIN_MS ? 'its ledger was out of reach' : undefined;
}

/** Returns when an attempt that is ready at that time is settled, as far as known, and whether the ledger delayed it. */
function settlingOf(
  readyMs: number,
  { frozen, unwritable }: Troubles,
): { settledMs: number; wasUnwritable: boolean } {
  const untilAsked = unwritable.map(({ fromMs, toMs }) => ({ fromMs, toMs: toMs + ASKED_AGAIN_MS }));
  let settledMs = readyMs;
  let wasUnwritable = false;
  for (;;) {
    const writableMs = goingOnAt(settledMs, untilAsked);
    const later = goingOnAt(writableMs, frozen);
    wasUnwritable ||= writableMs > settledMs;
    if (later === settledMs) return { settledMs, wasUnwritable };
    settledMs = later;
  }
}

/** Returns when a process does what it was about to do at that time: then, unless it was delayed. */
function goingOnAt(ms: number, hindrances: readonly Spell[]): number {
  const hindering = hindrances.filter(({ fromMs, toMs }) => fromMs <= ms + SEEN_WITHIN_MS && toMs > ms);
  return Math.max(ms, ...hindering.map(({ toMs }) => toMs));
}

function isWithin(ms: number, fromMs: number, toMs: number): boolean {
  return ms >= fromMs && ms <= toMs;
}

/** Returns `crm: main:5 came at … and at …`, with times of day. */
function unexcusedText(delivery: string, first: WatchedRequest, again: WatchedRequest): string {
  const [, source, lead] = delivery.split(':');
  const timeOf = ({ request: { at } }: WatchedRequest) => at.toISOString().slice(11, 23);
  const answered = ((first.answeredMs ?? first.atMs) - first.atMs).toFixed(0);
  return `crm: ${source}:${lead} came at ${timeOf(first)}, was answered ${answered} ms later, and came again at ${timeOf(again)} (${delivery})`;
}
