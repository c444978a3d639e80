import type { AlertState } from '../alerts/alert-store.ts';
import { type Entry, upcomingNotice } from '../alerts/alert-tracker.ts';
import type { AlertOptions } from '../alerts/options.ts';
import { runbookOf } from '../leads/problems.ts';
import { iso } from './json-values.ts';

/** What the next notice of an alert says. */
const NEXT = { begun: 'first', lasts: 'reminder', over: 'over' } as const;

/**
 * Returns the alerts and their destinations, with the commands in messages as users type them. Returns no alerts if there are no destinations,
 * because leadsync then evaluates no condition.
 */
export function alertsJson(
  { entries, waiting }: AlertState,
  { to }: AlertOptions,
  rewriteCommands: (text: string) => string,
) {
  const destinations = Object.entries(to).map(([name, { type }]) => ({ name, type }));
  const unsent = (name: string) => waiting[name] ?? [];
  return {
    destinations: destinations.map((one) => ({
      ...one,
      unsent: unsent(one.name).length,
      unsent_since: iso(unsent(one.name)[0]?.at),
    })),
    alerts:
      destinations.length === 0
        ? []
        : entries.map((entry) => ({
            ...alertJson({ ...entry, what: rewriteCommands(entry.what) }),
            unsent_to: destinations
              .filter(({ name }) => unsent(name).some((notice) => isOf(notice, entry)))
              .map(({ name }) => name),
          })),
  };
}

function isOf(
  notice: Pick<Entry, 'condition' | 'about'>,
  { condition, about }: Pick<Entry, 'condition' | 'about'>,
): boolean {
  return notice.condition === condition && notice.about === about;
}

function alertJson(entry: Entry) {
  const { condition, severity, about, what, sinceMs, toldMs, overMs } = entry;
  const next = upcomingNotice(entry);
  return {
    condition,
    severity,
    about: about ?? null,
    message: what,
    state: stateOf(entry),
    since: new Date(sinceMs).toISOString(),
    reported_at: time(toldMs),
    over_at: time(overMs),
    next_notice: next ? NEXT[next.kind] : null,
    next_notice_at: iso(next?.at),
    runbook: runbookOf(condition),
  };
}

/** Returns the alerts that are active; none if there are no destinations, because leadsync then evaluates no condition. */
export function activeAlerts({ entries }: AlertState, { to }: AlertOptions): readonly Entry[] {
  return Object.keys(to).length === 0 ? [] : entries.filter((entry) => stateOf(entry) === 'active');
}

function stateOf({ toldMs, wellSinceMs, overMs }: Entry) {
  if (overMs !== undefined) return 'over' as const;
  if (toldMs === undefined) return 'new' as const;
  return wellSinceMs === undefined ? ('active' as const) : ('ending' as const);
}

function time(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString();
}
