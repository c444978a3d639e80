import type { Limits } from '../../src/alerts/condition.ts';
import { alertOptions } from '../../src/alerts/options.ts';
import { nameOption } from '../../src/config/options/option-limits.ts';
import { HEALTHY } from '../../src/leads/sink-health.ts';
import type { FileRuns } from '../../src/status/export-view.ts';
import type { AlertInputs, ObservedSink, ObservedSource } from '../../src/status/problems/alert-inputs.ts';
import { commandInText } from '../../src/status/problems/problem.ts';

export const NOW = new Date('2026-11-20T10:00:00.000Z');

/** So many ms before the time of the observation. */
export function ago(ms: number): Date {
  return new Date(NOW.getTime() - ms);
}

/** A source that is well, but for what is given. */
export function aSource(more: Partial<ObservedSource> = {}): ObservedSource {
  return {
    name: 'main',
    overdueSince: undefined,
    lastSuccessAt: NOW,
    listing: { lastSuccessAt: NOW, listed: 60, listedLately: 60, leads: 80 },
    rejected: 0,
    failure: undefined,
    silence: undefined,
    ...more,
  };
}

/** A sink that is well, but for what is given. */
export function aSink(more: Partial<ObservedSink> = {}): ObservedSink {
  return {
    name: 'crm',
    health: HEALTHY,
    pending: 0,
    dead: 0,
    deadReason: undefined,
    oldestOwedAt: undefined,
    lastDeadAt: undefined,
    batchWaitMs: 0,
    recentMs: [],
    ...more,
  };
}

/** An export that was made an hour ago. */
export const MADE = {
  startedAt: ago(3_600_000),
  finishedAt: ago(3_590_000),
  place: '/srv/exports/nightly.parquet',
  rows: 3,
  bytes: 812,
  config: '{}',
};

/** An export that is well, but for what is given. */
export function anExport(more: Partial<FileRuns> = {}): FileRuns {
  return { name: 'nightly', isBackup: false, overdueSince: undefined, done: MADE, ...more };
}

/** A backup that is well, but for what is given. */
export function aBackup(more: Partial<FileRuns> = {}): FileRuns {
  return { ...anExport(), name: 'daily', isBackup: true, ...more };
}

/** One source, one sink and one export, all well, but for what is given. */
export function anObservation(more: Partial<AlertInputs> = {}): AlertInputs {
  return {
    at: NOW,
    sources: [aSource()],
    sinks: [aSink()],
    exports: [anExport(), aBackup()],
    disk: { freeBytes: 2_000_000_000, minFreeBytes: 500_000_000 },
    stale: undefined,
    carrier: undefined,
    ledger: undefined,
    ...more,
  };
}

export const NAMES = { sources: ['main'], sinks: ['crm'], exports: ['nightly'], backups: ['daily'] };

/** What a configuration that says nothing of it means. */
export const DEFAULTS: Limits = alertOptions(nameOption).parse({}).when;

/** What `findProblems` is told beside the ledger while leadsync runs and all is well. */
export const RUNNING = {
  running: true,
  answers: true,
  unready: [],
  stale: undefined,
  queued: false,
  exports: [],
  command: commandInText,
};
