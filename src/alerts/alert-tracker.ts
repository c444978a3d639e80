import { PROBLEMS, type Severity } from '../leads/problems.ts';
import { printCount, printMinute } from '../platform/text/human-readable.ts';
import type { Condition } from './condition.ts';
import type { Notice } from './notice.ts';

/** Result of evaluating one condition for one source, sink, export or backup, or for leadsync itself. */
export interface Evaluation {
  readonly condition: Condition;
  readonly about: string | undefined;
  /** `unknown` means that the condition cannot be evaluated now and keeps its previous state. */
  readonly state: 'well' | 'unknown' | ActiveCondition;
  /** Text of the notice that the condition is over. */
  readonly over: string;
}

/** A condition that holds now. `what` and `next` are complete sentences. */
export interface ActiveCondition {
  /** Start of the condition. If undefined, the condition counts from the evaluation that first finds it. */
  readonly since: Date | undefined;
  /** Time that the condition must last before leadsync reports it, in ms. */
  readonly afterMs: number;
  readonly what: string;
  readonly next: string;
  /** Absent: the usual severity of the condition. */
  readonly severity?: Severity | undefined;
  /** Number of things that have the problem, such as dead deliveries. Undefined if they are not counted. */
  readonly count?: number | undefined;
}

/** Tracked state of a condition that holds or held recently. Times are in ms since 1970, as in the state file. */
export interface Entry {
  readonly condition: Condition;
  readonly about: string | undefined;
  readonly sinceMs: number;
  /** Text of the last evaluation that found the condition. */
  readonly what: string;
  /** Severity that the last evaluation found. */
  readonly severity: Severity;
  /** Severity in the last notice that the condition holds. Undefined before the first notice. */
  readonly toldSeverity: Severity | undefined;
  /** Time of the last notice that the condition holds. Undefined before the first notice. */
  readonly toldMs: number | undefined;
  /** `count` of the condition at the time of its last notice. */
  readonly toldCount: number | undefined;
  /** Time since which a reported condition has been absent. Undefined while the condition holds. */
  readonly wellSinceMs: number | undefined;
  /** Time of the notice that the condition is over. */
  readonly overMs: number | undefined;
  /** Number of recent starts of the condition. If a condition returns before leadsync has reported its end, that is not a new start. */
  readonly times: number;
}

const MINUTE_MS = 60_000;
const REMIND_MS = 24 * 60 * MINUTE_MS;
/** Minimum time between two notices of a condition whose count grows, in ms. */
const GROWTH_MS = 15 * MINUTE_MS;
/** A count has grown if it has at least doubled since the last notice, and by at least this much. */
const MIN_GROWTH = 10;
/**
 * Time for which a condition must have been absent before it counts as over, in ms. Doubles, up to `MAX_CALM_MS`, each time the condition
 * starts again soon after it was over.
 */
const CALM_MS = 5 * MINUTE_MS;
const MAX_CALM_MS = 60 * MINUTE_MS;
/** Time for which a condition that is over counts as recent, in ms. */
const RECENT_MS = 6 * 60 * MINUTE_MS;

/**
 * Tracks which conditions hold and which of them were reported. Creates a notice when a condition has lasted long enough, reminders while it
 * lasts (once a day, or earlier if its count has grown a lot or it has become critical), and a notice when it is over. A condition that comes and goes stays one alert. If
 * a condition starts again soon after it was over, it must be absent for longer before it counts as over again.
 */
export class AlertTracker {
  #entries: ReadonlyMap<string, Entry>;

  /**
   * Restores the reported entries after a restart. Drops unreported entries: the next evaluation finds those conditions again if they still
   * hold.
   */
  constructor(entries: readonly Entry[]) {
    const reported = entries.filter(({ toldMs, overMs }) => toldMs !== undefined || overMs !== undefined);
    this.#entries = new Map(reported.map((entry) => [keyOf(entry), entry]));
  }

  /** Entries that must survive a restart. */
  get entries(): readonly Entry[] {
    return [...this.#entries.values()];
  }

  /**
   * Processes evaluations and returns the notices that are due. Drops every condition without an evaluation, because it is no longer
   * watched.
   */
  take(evaluations: readonly Evaluation[], now: Date): readonly Notice[] {
    const notices: Notice[] = [];
    const entries = new Map<string, Entry>();
    for (const one of evaluations) {
      const before = this.#entries.get(keyOf(one));
      const { entry, notice } = step(before && byPresentClock(before, now.getTime()), one, now.getTime());
      if (entry) entries.set(keyOf(one), entry);
      if (notice) notices.push(notice);
    }
    this.#entries = entries;
    return notices;
  }
}

/** Limits future times to now. Such times were recorded before the clock was set back, and would delay a notice. */
function byPresentClock(entry: Entry, nowMs: number): Entry {
  const atMost = (ms: number | undefined) => (ms === undefined ? undefined : Math.min(ms, nowMs));
  return {
    ...entry,
    sinceMs: Math.min(entry.sinceMs, nowMs),
    toldMs: atMost(entry.toldMs),
    wellSinceMs: atMost(entry.wellSinceMs),
    overMs: atMost(entry.overMs),
  };
}

interface Step {
  readonly entry?: Entry | undefined;
  readonly notice?: Notice;
}

function step(entry: Entry | undefined, evaluation: Evaluation, nowMs: number): Step {
  const { state } = evaluation;
  if (state === 'unknown') return { entry };
  return state === 'well' ? stepWell(entry, evaluation, nowMs) : stepActive(entry, evaluation, state, nowMs);
}

function stepActive(
  entry: Entry | undefined,
  { condition, about }: Evaluation,
  active: ActiveCondition,
  nowMs: number,
): Step {
  const { next, count, severity = PROBLEMS[condition].severity } = active;
  const what = active.what + growthOf(entry, active);
  const again = entry?.overMs !== undefined;
  const found = entry && !again ? entry.sinceMs : nowMs;
  const sinceMs = active.since && active.since.getTime() <= nowMs ? active.since.getTime() : found;
  const reportedMs = again ? undefined : entry?.toldMs;
  const now: Entry = {
    condition,
    about,
    // A condition that comes and goes keeps its first start time.
    sinceMs: reportedMs === undefined ? sinceMs : Math.min(sinceMs, entry?.sinceMs ?? sinceMs),
    what,
    severity,
    toldSeverity: reportedMs === undefined ? undefined : entry?.toldSeverity,
    toldMs: reportedMs,
    toldCount: reportedMs === undefined ? undefined : entry?.toldCount,
    wellSinceMs: undefined,
    overMs: undefined,
    times: (entry?.times ?? 0) + (again || !entry ? 1 : 0),
  };
  const kind = reportedMs === undefined ? 'begun' : 'lasts';
  const waitMs = hasWorsened(now) ? 0 : hasGrown(now, count) ? GROWTH_MS : REMIND_MS;
  const due = reportedMs === undefined ? nowMs - sinceMs >= active.afterMs : nowMs - reportedMs >= waitMs;
  if (!due) return { entry: now };
  const notice = {
    kind,
    condition,
    severity,
    about,
    since: new Date(now.sinceMs),
    at: new Date(nowMs),
    what,
    next,
  } as const;
  return { entry: { ...now, toldMs: nowMs, toldCount: count, toldSeverity: severity }, notice };
}

/** Whether a condition that was reported as a warning is critical now. */
function hasWorsened({ severity, toldSeverity }: Entry): boolean {
  return severity === 'critical' && toldSeverity === 'warning';
}

function hasGrown({ toldCount }: Entry, count = 0): boolean {
  return toldCount !== undefined && count >= Math.max(2 * toldCount, toldCount + MIN_GROWTH);
}

/** Returns a sentence that says by how much the count has grown since the last notice; empty if it has not grown. */
function growthOf(entry: Entry | undefined, { count = 0 }: ActiveCondition): string {
  if (entry?.overMs !== undefined || entry?.toldMs === undefined || entry.toldCount === undefined) return '';
  const more = count - entry.toldCount;
  return more > 0 ? ` ${printCount(more)} more since ${printMinute(new Date(entry.toldMs))}.` : '';
}

/** Returns how long a condition must have been absent before it counts as over, in ms. */
function calmMsOf({ times }: Entry): number {
  return Math.min(CALM_MS * 2 ** (times - 1), MAX_CALM_MS);
}

/**
 * Returns the kind and due time of a condition's next notice if its state stays as it is. There is no time for the first notice, because it depends
 * on a limit that the entry does not contain. Returns undefined if the condition is over.
 */
export function upcomingNotice(
  entry: Entry,
): { readonly kind: Notice['kind']; readonly at?: Date } | undefined {
  const { toldMs, wellSinceMs, overMs } = entry;
  if (overMs !== undefined) return undefined;
  if (toldMs === undefined) return { kind: 'begun' };
  if (wellSinceMs !== undefined) return { kind: 'over', at: new Date(wellSinceMs + calmMsOf(entry)) };
  return { kind: 'lasts', at: new Date(toldMs + REMIND_MS) };
}

function stepWell(entry: Entry | undefined, { condition, about, over }: Evaluation, nowMs: number): Step {
  if (!entry) return {};
  if (entry.overMs !== undefined) return nowMs - entry.overMs > RECENT_MS ? {} : { entry };
  if (entry.toldMs === undefined) return {};
  const wellSinceMs = entry.wellSinceMs ?? nowMs;
  if (nowMs - wellSinceMs < calmMsOf(entry)) return { entry: { ...entry, wellSinceMs } };
  const since = new Date(entry.sinceMs);
  const notice = {
    kind: 'over',
    condition,
    severity: entry.severity,
    about,
    since,
    at: new Date(wellSinceMs),
    what: over,
    next: '',
  } as const;
  return { entry: { ...entry, overMs: nowMs }, notice };
}

function keyOf({ condition, about }: Pick<Entry, 'condition' | 'about'>): string {
  return `${condition} ${about ?? ''}`;
}
