import type { ExportTarget } from '../exports/contract/options.ts';
import type { ExportView } from './export-view.ts';
import { iso } from './json-values.ts';

/** Returns an export for `status --json`. */
export function exportJson(view: ExportView) {
  return { ...exportFacts(view), running: view.running };
}

/** Returns a backup for `status --json`. */
export function backupJson(view: ExportView) {
  return { ...backupFacts(view), running: view.running };
}

/** Returns an export for the overview. */
export function exportOverview(view: ExportView) {
  return { ...exportFacts(view), ...scheduleFacts(view) };
}

/** Returns a backup for the overview. */
export function backupOverview(view: ExportView) {
  return { ...backupFacts(view), ...scheduleFacts(view) };
}

function scheduleFacts(view: ExportView) {
  const { schedule, target } = view.config;
  return {
    target: targetOf(target),
    every_seconds: 'everyMs' in schedule ? schedule.everyMs / 1000 : null,
    at: 'at' in schedule ? schedule.at : null,
    timezone: 'at' in schedule ? schedule.timezone : null,
    state: stateOf(view),
  };
}

/** Returns the last results of an export. `next_at` is in the past if the export is overdue. */
function exportFacts({ config: { name, target }, state, dueAt }: ExportView) {
  const { done, failed } = state ?? {};
  return {
    export: name,
    type: target.type,
    last_success_at: iso(done?.startedAt),
    place: done?.place ?? null,
    rows: done?.rows ?? null,
    bytes: done?.bytes ?? null,
    next_at: iso(dueAt),
    failures: failed?.times ?? 0,
    last_error: failed?.message ?? null,
  };
}

function backupFacts(view: ExportView) {
  const { export: backup, rows: leads, ...facts } = exportFacts(view);
  return { backup, leads, ...facts };
}

function stateOf({ state, running }: ExportView): 'running' | 'failed' | 'made' | 'new' {
  if (running) return 'running';
  if (state?.failed) return 'failed';
  return state?.done ? 'made' : 'new';
}

function targetOf(target: ExportTarget): string {
  return target.type === 's3' ? `s3://${target.bucket}/${target.prefix}` : target.directory;
}
