import type { SinkView } from './status-view.ts';

/**
 * Returns when leadsync next tries a sink: its next probe, or the first retry of a failed lead. The time can be in the past. Undefined if
 * neither is planned, and for a sink that is paused, disabled, removed or new, because leadsync does not try it.
 */
export function nextAttemptAt({ state, status }: SinkView): Date | undefined {
  const isTried = state === 'held' || state === 'retrying' || state === 'healthy';
  return isTried ? (status?.health.probeAt ?? status?.retrying?.nextAttemptAt) : undefined;
}
