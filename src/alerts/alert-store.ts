import type { Entry } from './alert-tracker.ts';
import type { Notice } from './notice.ts';

/** State that survives a restart: the tracked conditions, and the unsent notices of each destination. */
export interface AlertState {
  readonly entries: readonly Entry[];
  readonly waiting: Readonly<Record<string, readonly Notice[]>>;
}

/** Stores the alert state. Alerts must also work when the ledger fails. If the state is lost, a notice may be sent twice. */
export interface AlertStore {
  /** Returns the stored state. Returns an empty state if there is none or it cannot be read, for example because another version wrote it. */
  read(): Promise<AlertState>;
  /** Waits for a write in progress, then writes the state if it has changed. @throws an error with a `code` if the write fails */
  write(state: AlertState): Promise<void>;
}
