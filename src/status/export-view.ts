import { type ExportConfig, isBackup } from '../exports/contract/options.ts';
import { dueAfter } from '../exports/contract/schedule.ts';
import type { ExportState, ExportStates } from '../exports/export-states.ts';

/** A configured export or backup with the state of its runs. */
export interface ExportView {
  readonly config: ExportConfig;
  readonly state: ExportState | undefined;
  /** Time of the next run or retry; in the past if it is overdue. */
  readonly dueAt: Date | undefined;
  /** Whether a run is in progress. */
  readonly running: boolean;
}

/** Returns every configured export and backup, in the order of the configuration. */
export async function viewExports(
  exports: readonly ExportConfig[],
  states: ExportStates,
): Promise<ExportView[]> {
  return Promise.all(
    exports.map(async (config) => {
      const [state, running] = await Promise.all([states.read(config.name), states.isRunning(config.name)]);
      return { config, state, dueAt: state && dueAt(config, state), running };
    }),
  );
}

/** An export or a backup with the results of its last runs. */
export interface FileRuns extends Pick<ExportState, 'done' | 'failed'> {
  readonly name: string;
  readonly isBackup: boolean;
  /** When the next run or retry was due; undefined if it is not overdue. */
  readonly overdueSince: Date | undefined;
}

/** Time after which a run that was due counts as overdue, in ms. A large backup takes minutes, and exports may run before it. */
const OVERDUE_MS = 3_600_000;

/** Returns the results of the runs of an export or a backup, for `failedFiles`. */
export function runsOf(config: ExportConfig, state: ExportState | undefined, now: Date): FileRuns {
  const { name } = config;
  const due = state && dueAt(config, state);
  const isLate = due !== undefined && now.getTime() - due.getTime() > OVERDUE_MS;
  return { ...state, name, isBackup: isBackup(config), overdueSince: isLate ? due : undefined };
}

/** Returns the time of the next run or retry of an export or backup; in the past if it is overdue. */
export function dueAt({ schedule }: ExportConfig, { since, done, failed }: ExportState): Date {
  if (failed) return failed.retryAt;
  if (done) return dueAfter(schedule, done.startedAt);
  return 'everyMs' in schedule ? since : dueAfter(schedule, since);
}
