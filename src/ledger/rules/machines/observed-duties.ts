import type { KnownDuty } from '../../contract/machines.ts';

type LeaseState = Pick<KnownDuty, 'duty' | 'holder' | 'token' | 'renewals'>;

/**
 * What this process has seen of the leases of duties. It measures with its own clock for how long a lease has not changed, so that a clock of the server
 * that was set ahead ends no lease, and one that was set back keeps none.
 */
export class ObservedDuties {
  readonly #seen = new Map<string, { readonly state: string; readonly sinceMs: number }>();

  /** Records what an answer showed that arrived at `nowMs`, by the monotonic clock. */
  see(duties: readonly LeaseState[], nowMs: number): void {
    for (const duty of duties) {
      const state = stateOf(duty);
      if (this.#seen.get(duty.duty)?.state !== state) this.#seen.set(duty.duty, { state, sinceMs: nowMs });
    }
  }

  /** Returns for how long this process has seen the duty in this state, in ms; undefined if it has not seen the duty before. */
  unchangedMs(duty: LeaseState, nowMs: number): number | undefined {
    const seen = this.#seen.get(duty.duty);
    if (!seen) return undefined;
    return seen.state === stateOf(duty) ? nowMs - seen.sinceMs : 0;
  }
}

function stateOf({ holder, token, renewals }: LeaseState): string {
  return JSON.stringify([holder, token, renewals]);
}
