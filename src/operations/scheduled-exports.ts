import { describeExport, differingOptions } from '../config/changes/compare-configs.ts';
import { backOffMs } from '../delivery/retry-policy.ts';
import type { ExportConfig } from '../exports/contract/options.ts';
import type { ExportState, ExportStates } from '../exports/export-states.ts';
import { type ExportJob, type ExportResult, runExport } from '../exports/run-export.ts';
import { removeStagedOfOthers } from '../exports/staged.ts';
import { nextBeat } from '../platform/time/beat.ts';
import type { Clock, Random } from '../platform/time/clock.ts';
import { dueAt } from '../status/export-view.ts';
import type { Emit } from '../telemetry/events.ts';
import { ledgerFile } from './opening/open-ledger.ts';

/** How often it is looked whether an export is due, in ms. */
const CHECK_INTERVAL_MS = 2_000;
const FIRST_BACK_OFF_MS = 60_000;
const LAST_BACK_OFF_MS = 3_600_000;
/**
 * Rows that are new since the last export are looked for from so much earlier on, in ms: what began before it, a long poll say,
 * may have been written behind it under the time at which it began.
 */
const OVERLAP_MS = 3_600_000;

/** Options that change when an export is made, and not what is in it or where it goes. */
const WHEN: ReadonlySet<string> = new Set(['every', 'at', 'timezone', 'keep']);

/** In the place of its configuration, where an export has none any more. */
const NOT_CONFIGURED = '';

/**
 * What runs of exports work with, the daemon's and those of `leadsync export --name`: in `states` each finds the
 * others' results.
 */
export interface ExportParts {
  readonly states: ExportStates;
  readonly dataDir: string;
  readonly clock: Clock;
  readonly random: Random;
  /** By how much others come first, as for nice(1). */
  readonly niceness: number;
}

/** What is remembered of exports, as `planOf` compares it. */
export async function lastExports(states: ExportStates): Promise<{ name: string; config: string }[]> {
  const names = await states.names().catch(() => []); // each export says itself that the folder cannot be used
  return names.flatMap((name) => {
    const config = states.read(name)?.config;
    return config === undefined || config === NOT_CONFIGURED ? [] : [{ name, config }];
  });
}

/**
 * Exports that are not configured any more, and have made files: they may be there still. `place` is where the last one is; undefined
 * when what is remembered cannot be read. @throws Node's error when nothing of it can be
 */
export async function formerExports(
  exports: readonly ExportConfig[],
  states: ExportStates,
): Promise<{ name: string; place: string | undefined }[]> {
  const others = await namesOfOthers(exports, states);
  return others.flatMap((name) => {
    const state = states.read(name);
    return state && !state.done ? [] : [{ name, place: state?.done?.place }];
  });
}

/** Takes what became of a run. */
type OnRunEnd = (name: string, result: ExportResult, run: { startedMs: number; state: ExportState }) => void;

/** Makes events of what becomes of runs; one that was put off or cut off is no news. */
export function reportExports(emit: Emit, clock: Clock): OnRunEnd {
  return (name, result, { startedMs, state }) => {
    if (result.kind === 'made') {
      const { kind: _, ...made } = result;
      emit({
        type: 'export-made',
        export: name,
        ...made,
        durationMs: Math.round(clock.monotonicMs() - startedMs),
      });
    } else if (result.kind === 'failed' && state.failed) {
      const { message: reason, hint } = result;
      const retryInMs = state.failed.retryAt.getTime() - state.failed.at.getTime();
      emit({ type: 'export-failed', export: name, reason, hint, failures: state.failed.times, retryInMs });
    }
  };
}

/**
 * Makes every export when it is due, one after the other, until the signal aborts. One that was missed is made once, as soon as leadsync
 * runs; one that failed is tried again with growing pauses.
 */
export async function exportOnSchedule(
  exportsNow: () => readonly ExportConfig[],
  parts: ExportParts,
  onRunEnd: OnRunEnd,
  signal: AbortSignal,
): Promise<void> {
  const { states, clock } = parts;
  let known: readonly ExportConfig[] | undefined;
  while (!signal.aborted) {
    const exports = exportsNow();
    if (known !== exports) await forgetOthers(exports, states);
    known = exports;
    for (const config of exports) {
      if (signal.aborted) return;
      const state = await currentState(config, parts);
      if (!isDue(config, state, clock.now())) continue;
      const startedMs = clock.monotonicMs();
      const { result, state: after } = await exportOnce(config, parts, signal);
      onRunEnd(config.name, result, { startedMs, state: after });
    }
    await nextBeat(clock, CHECK_INTERVAL_MS, signal);
  }
}

/** Makes an export now, and remembers what came of it. */
export async function exportOnce(
  config: ExportConfig,
  parts: ExportParts,
  signal: AbortSignal,
): Promise<{ result: ExportResult; state: ExportState }> {
  const { states, clock, random } = parts;
  const before = await currentState(config, parts);
  const goesOn = before.done !== undefined && isSameExport(before.done.config, config);
  const startedAt = clock.now();
  const run = {
    ledgerFile: ledgerFile(parts.dataDir),
    at: startedAt,
    exportedAt: exportedAtOf(before, startedAt),
    since: goesOn && config.rows === 'new' ? sinceOf(before, startedAt) : undefined,
    first: !goesOn,
  };
  const result = await runExport(config, run, { folder: states.folder, niceness: parts.niceness }, signal);
  const state = after(before, config, { result, run, now: clock.now(), random });
  if (state !== before) await states.write(config.name, state);
  return { result, state };
}

function after(
  before: ExportState,
  config: ExportConfig,
  { result, run, now, random }: { result: ExportResult; run: ExportJob['run']; now: Date; random: Random },
): ExportState {
  if (result.kind === 'made') {
    const { place, rows, bytes } = result;
    const times = { startedAt: run.at, exportedAt: run.exportedAt, finishedAt: now };
    const done = { ...times, place, rows, bytes, config: describeExport(config) };
    return { ...before, done, failed: undefined };
  }
  if (result.kind !== 'failed') return before;
  const times = (before.failed?.times ?? 0) + 1;
  const waitMs = backOffMs(times - 1, FIRST_BACK_OFF_MS, LAST_BACK_OFF_MS, random);
  const { message, hint } = result;
  const retryAt = new Date(now.getTime() + waitMs);
  return { ...before, failed: { at: now, times, message, hint, retryAt } };
}

/** What is remembered of it. Under another configuration a failure counts no more: somebody may have mended it. */
async function currentState(config: ExportConfig, { states, clock }: ExportParts): Promise<ExportState> {
  const state = states.read(config.name);
  const described = describeExport(config);
  if (state?.config === described) return state;
  const known = state?.config === NOT_CONFIGURED ? undefined : state;
  const now = { since: clock.now(), ...known, config: described, failed: undefined };
  await states.write(config.name, now);
  return now;
}

/** Where files of theirs may be is still known: whoever erases a person has to look there. */
async function forgetOthers(exports: readonly ExportConfig[], states: ExportStates): Promise<void> {
  // That the folder cannot be used, each export says itself; an erasure looks into it as well.
  await removeStagedOfOthers(states.folder, new Set(exports.map(({ name }) => name))).catch(() => undefined);
  for (const name of await namesOfOthers(exports, states).catch(() => [])) {
    const state = states.read(name);
    if (!state) continue; // what cannot be read now may say where files are
    if (!state.done) await states.forget(name);
    else if (state.config !== NOT_CONFIGURED) await states.write(name, { ...state, config: NOT_CONFIGURED });
  }
}

async function namesOfOthers(exports: readonly ExportConfig[], states: ExportStates): Promise<string[]> {
  const names = new Set(exports.map(({ name }) => name));
  return (await states.names()).filter((name) => !names.has(name));
}

/** What is noted of a time to come was noted before the clock was set back: nobody waits for that to come again. */
function isDue(config: ExportConfig, state: ExportState, now: Date): boolean {
  if (state.failed) return state.failed.retryAt <= now || state.failed.at > now;
  return dueAt(config, state) <= now || (state.done?.startedAt ?? state.since) > now;
}

/** A copy of a row with a later time replaces one with an earlier time, so the times of runs must grow even if the clock was set back. */
function exportedAtOf({ done }: ExportState, now: Date): Date {
  const last = done?.exportedAt ?? done?.startedAt;
  return last && last >= now ? new Date(last.getTime() + 1) : now;
}

/**
 * Everything if the clock was set back since, and after a version whose rows had no `_exported_at`: its exports also left out rows
 * that had changed.
 */
function sinceOf({ done }: ExportState, now: Date): Date | undefined {
  if (!done?.exportedAt || done.startedAt > now) return undefined;
  return new Date(done.startedAt.getTime() - OVERLAP_MS);
}

function isSameExport(before: string, config: ExportConfig): boolean {
  return differingOptions(before, describeExport(config)).every((option) => WHEN.has(option));
}
