import type { ExportConfig } from '../exports/contract/options.ts';
import { dueAfter } from '../exports/contract/schedule.ts';
import { isRunning } from '../exports/export-lock.ts';
import type { ExportState, ExportStates } from '../exports/export-states.ts';

/** A configured export with the state of its runs. */
export interface ExportView {
  readonly config: ExportConfig;
  readonly state: ExportState | undefined;
  /** Time of the next run or retry; in the past if it is overdue. */
  readonly dueAt: Date | undefined;
  /** Whether a run is in progress. */
  readonly running: boolean;
}

/** Returns every configured export, in the order of the configuration. */
export function viewExports(exports: readonly ExportConfig[], states: ExportStates): ExportView[] {
  return exports.map((config) => {
    const state = states.read(config.name);
    const running = isRunning(states.folder, config.name);
    return { config, state, dueAt: state && dueAt(config, state), running };
  });
}

/** Returns the time of the next run or retry of an export; in the past if it is overdue. */
export function dueAt({ schedule }: ExportConfig, { since, done, failed }: ExportState): Date {
  if (failed) return failed.retryAt;
  if (done) return dueAfter(schedule, done.startedAt);
  return 'everyMs' in schedule ? since : dueAfter(schedule, since);
}
