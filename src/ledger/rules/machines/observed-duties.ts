import type { KnownDuty } from '../../contract/machines.ts';

type LeaseState = Pick<KnownDuty, 'duty' | 'holder' | 'token' | 'renewals'>;

/**
 * The leases of duties as this process has seen them. It measures with its own clock how long a lease has not changed, so that setting the server's
 * clock ahead ends no lease, and setting it back prolongs none.
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
