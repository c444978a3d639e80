import type { ExportConfig } from '../exports/contract/options.ts';
import { dueAfter } from '../exports/contract/schedule.ts';
import { isRunning } from '../exports/export-lock.ts';
import type { ExportState, ExportStates } from '../exports/export-states.ts';

/** An export as the configuration and what is remembered of it have it together. */
export interface ExportView {
  readonly config: ExportConfig;
  readonly state: ExportState | undefined;
  /** When it is made next, or made again; in the past where it is overdue. */
  readonly dueAt: Date | undefined;
  /** It is being made at this moment. */
  readonly running: boolean;
}

/** Every configured export, in order. */
export function viewExports(exports: readonly ExportConfig[], states: ExportStates): ExportView[] {
  return exports.map((config) => {
    const state = states.read(config.name);
    const running = isRunning(states.folder, config.name);
    return { config, state, dueAt: state && dueAt(config, state), running };
  });
}

/** Returns when an export is made next, or made again; in the past where it is overdue. */
export function dueAt({ schedule }: ExportConfig, { since, done, failed }: ExportState): Date {
  if (failed) return failed.retryAt;
  if (done) return dueAfter(schedule, done.startedAt);
  return 'everyMs' in schedule ? since : dueAfter(schedule, since);
}
