import type { KnownDuty } from '../../contract/machines.ts';

type LeaseState = Pick<KnownDuty, 'duty' | 'holder' | 'token' | 'renewals'>;

/**
 * States in the ledger as this process has seen them, by name. It measures with its own clock how long a state has not changed, so that setting the
 * server's clock ahead ends no lease, and setting it back prolongs none.
 */
export class Observed {
  readonly #seen = new Map<string, { readonly state: string; readonly sinceMs: number }>();

  /** Records a state that an answer showed that arrived at `nowMs`, by the monotonic clock. */
  see(name: string, state: string, nowMs: number): void {
    if (this.#seen.get(name)?.state !== state) this.#seen.set(name, { state, sinceMs: nowMs });
  }

  /** Returns for how long this process has seen the name with this state, in ms; undefined if it has not seen the name before. */
  unchangedMs(name: string, state: string, nowMs: number): number | undefined {
    const seen = this.#seen.get(name);
    if (!seen) return undefined;
    return seen.state === state ? nowMs - seen.sinceMs : 0;
  }

  /** Forgets all other names. */
  keepOnly(names: ReadonlySet<string>): void {
    for (const name of this.#seen.keys()) if (!names.has(name)) this.#seen.delete(name);
  }
}

/** What this process has seen of the leases of duties. */
export class ObservedDuties {
  readonly #observed = new Observed();

  /** Records what an answer showed that arrived at `nowMs`, by the monotonic clock. */
  see(duties: readonly LeaseState[], nowMs: number): void {
    for (const duty of duties) this.#observed.see(duty.duty, stateOf(duty), nowMs);
  }

  /** Returns for how long this process has seen the duty in this state, in ms; undefined if it has not seen the duty before. */
  unchangedMs(duty: LeaseState, nowMs: number): number | undefined {
    return this.#observed.unchangedMs(duty.duty, stateOf(duty), nowMs);
  }
}

function stateOf({ holder, token, renewals }: LeaseState): string {
  return JSON.stringify([holder, token, renewals]);
}
