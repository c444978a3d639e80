import type { Condition } from './condition.ts';
import type { Notice } from './notice.ts';

/** One condition of one source, sink or export, as it is now. */
export interface Evaluation {
  readonly condition: Condition;
  readonly about: string | undefined;
  /** `unknown`: it cannot be told now, and stays what it was. */
  readonly state: 'well' | 'unknown' | ActiveCondition;
  /** Said when it is over. */
  readonly over: string;
}

/** A condition that holds now, in whole sentences. Whether somebody was told already is the book's to know. */
export interface ActiveCondition {
  /** Since when; undefined: since it was first found. */
  readonly since: Date | undefined;
  /** How long it has to last before somebody hears of it, in ms. */
  readonly afterMs: number;
  readonly what: string;
  readonly next: string;
}

/** What is remembered of a condition that is, or was lately, wrong. Times in ms since 1970, as it is kept in a file. */
export interface Entry {
  readonly condition: Condition;
  readonly about: string | undefined;
  readonly sinceMs: number;
  /** What was last said of it. */
  readonly what: string;
  /** When somebody was last told that it is wrong; undefined: nobody was. */
  readonly toldMs: number | undefined;
  /** Found well since then, while it was told to be wrong. */
  readonly wellSinceMs: number | undefined;
  /** When somebody was told that it is over. */
  readonly overMs: number | undefined;
  /** How often it has begun lately. */
  readonly times: number;
}

const MINUTE_MS = 60_000;
const REMIND_MS = 24 * 60 * MINUTE_MS;
/** So long something has to be well before it is over, in ms; twice as long each time that it has come back lately. */
const CALM_MS = 5 * MINUTE_MS;
const LONGEST_CALM_MS = 60 * MINUTE_MS;
/** So long it is remembered that something was wrong, in ms. */
const LATELY_MS = 6 * 60 * MINUTE_MS;

/**
 * What is wrong, and who was told: makes one notice when a condition has lasted long enough, one when it has been well for
 * long enough, and one a day in between. What comes and goes is one alert, and the more often it does, the longer.
 */
export class AlertTracker {
  #entries: ReadonlyMap<string, Entry>;

  /** What nobody was told of before the restart is found anew, or is no longer so. */
  constructor(entries: readonly Entry[]) {
    const told = entries.filter(({ toldMs, overMs }) => toldMs !== undefined || overMs !== undefined);
    this.#entries = new Map(told.map((entry) => [keyOf(entry), entry]));
  }

  /** To be kept over a restart. */
  get entries(): readonly Entry[] {
    return [...this.#entries.values()];
  }

  /** Takes what was judged, and gives what is to be told. What was not judged is no longer watched, and forgotten. */
  take(judged: readonly Evaluation[], now: Date): readonly Notice[] {
    const notices: Notice[] = [];
    const entries = new Map<string, Entry>();
    for (const one of judged) {
      const before = this.#entries.get(keyOf(one));
      const { entry, notice } = step(before && byPresentClock(before, now.getTime()), one, now.getTime());
      if (entry) entries.set(keyOf(one), entry);
      if (notice) notices.push(notice);
    }
    this.#entries = entries;
    return notices;
  }
}

/** A time that lies ahead was noted before the clock was set back: nobody waits for it to come again. */
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

function step(entry: Entry | undefined, judged: Evaluation, nowMs: number): Step {
  const { state } = judged;
  if (state === 'unknown') return { entry };
  return state === 'well' ? stepWell(entry, judged, nowMs) : stepWrong(entry, judged, state, nowMs);
}

function stepWrong(
  entry: Entry | undefined,
  { condition, about }: Evaluation,
  wrong: ActiveCondition,
  nowMs: number,
): Step {
  const { what, next } = wrong;
  const again = entry?.overMs !== undefined;
  const found = entry && !again ? entry.sinceMs : nowMs;
  const sinceMs = wrong.since && wrong.since.getTime() <= nowMs ? wrong.since.getTime() : found;
  const told = again ? undefined : entry?.toldMs;
  const now: Entry = {
    condition,
    about,
    // What comes and goes goes on since it first came.
    sinceMs: told === undefined ? sinceMs : Math.min(sinceMs, entry?.sinceMs ?? sinceMs),
    what,
    toldMs: told,
    wellSinceMs: undefined,
    overMs: undefined,
    times: (entry?.times ?? 0) + (again || !entry ? 1 : 0),
  };
  const kind = told === undefined ? 'begun' : 'lasts';
  const due = told === undefined ? nowMs - sinceMs >= wrong.afterMs : nowMs - told >= REMIND_MS;
  if (!due) return { entry: again ? { ...now, toldMs: undefined } : now };
  const notice = {
    kind,
    condition,
    about,
    since: new Date(now.sinceMs),
    at: new Date(nowMs),
    what,
    next,
  } as const;
  return { entry: { ...now, toldMs: nowMs }, notice };
}

function stepWell(entry: Entry | undefined, { condition, about, over }: Evaluation, nowMs: number): Step {
  if (!entry) return {};
  if (entry.overMs !== undefined) return nowMs - entry.overMs > LATELY_MS ? {} : { entry };
  if (entry.toldMs === undefined) return {};
  const wellSinceMs = entry.wellSinceMs ?? nowMs;
  const calmMs = Math.min(CALM_MS * 2 ** (entry.times - 1), LONGEST_CALM_MS);
  if (nowMs - wellSinceMs < calmMs) return { entry: { ...entry, wellSinceMs } };
  const since = new Date(entry.sinceMs);
  const notice = {
    kind: 'over',
    condition,
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
