import { describeExport, differingOptions } from '../config/changes/compare-configs.ts';
import { backOffMs } from '../delivery/retry-policy.ts';
import { type ExportConfig, isBackup } from '../exports/contract/options.ts';
import type { ExportState, ExportStates } from '../exports/export-states.ts';
import { removeStagedOfOthers } from '../exports/staged-files.ts';
import { type ExportJob, type ExportResult, runExport } from '../exports/start-export-process.ts';
import { LedgerError } from '../ledger/contract/ledger-error.ts';
import type { TablesPlace } from '../ledger/contract/ledger-tables.ts';
import { nextBeat } from '../platform/time/aligned-sleep.ts';
import type { Clock, Random } from '../platform/time/clock.ts';
import { dueAt } from '../status/export-view.ts';
import type { Emit } from '../telemetry/events.ts';

/** Interval for checking whether an export is due, in ms. */
const CHECK_INTERVAL_MS = 2_000;
const FIRST_BACK_OFF_MS = 60_000;
const LAST_BACK_OFF_MS = 3_600_000;

/** Options that affect when an export runs, or how many of its files are kept, but neither its content nor its destination. */
const WHEN: ReadonlySet<string> = new Set(['every', 'at', 'timezone', 'keep']);

/** Stored instead of the configuration of an export that is no longer configured. */
const NOT_CONFIGURED = '';

/** What an export run works with, whether the daemon or `leadsync export --name` starts it. Both share their results through `states`. */
export interface ExportParts {
  readonly states: ExportStates;
  readonly ledger: TablesPlace;
  readonly clock: Clock;
  readonly random: Random;
  /** Niceness of the export process, as for nice(1). */
  readonly niceness: number;
}

/** Returns the last configurations of the exports and backups, for `planOf`. */
export async function lastExports(states: ExportStates): Promise<{ name: string; config: string }[]> {
  const names = await states.names().catch(() => []); // each export reports an unusable folder itself
  const read = await Promise.all(
    names.map(async (name) => ({ name, config: (await states.read(name))?.config })),
  );
  return read.flatMap(({ name, config }) =>
    config === undefined || config === NOT_CONFIGURED ? [] : [{ name, config }],
  );
}

/**
 * Returns exports and backups that are no longer configured but have written files, which may still exist. `place` is where the last run wrote;
 * undefined if the stored state cannot be read. @throws the error from Node if the folder of states cannot be read
 */
export async function formerExports(
  exports: readonly ExportConfig[],
  states: ExportStates,
): Promise<{ name: string; place: string | undefined }[]> {
  const others = await namesOfOthers(exports, states);
  const read = await Promise.all(others.map(async (name) => ({ name, state: await states.read(name) })));
  return read.flatMap(({ name, state }) =>
    state && !state.done ? [] : [{ name, place: state?.done?.place }],
  );
}

/** Called after each run with its result. */
type OnRunEnd = (
  config: ExportConfig,
  result: ExportResult,
  run: { startedMs: number; state: ExportState },
) => void;

/** Returns a callback that emits an event for each completed or failed run; a postponed or aborted run causes none. */
export function reportExports(emit: Emit, clock: Clock): OnRunEnd {
  return (config, result, { startedMs, state }) => {
    const { name } = config;
    if (result.kind === 'made') {
      const { kind: _, rows, ledgerAt: __, ...made } = result;
      const facts = { ...made, durationMs: Math.round(clock.monotonicMs() - startedMs) };
      if (isBackup(config)) emit({ type: 'backup-made', backup: name, leads: rows, ...facts });
      else emit({ type: 'export-made', export: name, rows, ...facts });
    } else if (result.kind === 'failed' && state.failed) {
      const { message: reason, hint } = result;
      const retryInMs = state.failed.retryAt.getTime() - state.failed.at.getTime();
      const facts = { reason, hint, failures: state.failed.times, retryInMs };
      if (isBackup(config)) emit({ type: 'backup-failed', backup: name, ...facts });
      else emit({ type: 'export-failed', export: name, ...facts });
    }
  };
}

/**
 * Runs every export and backup when it is due, one at a time, until the signal aborts. One that was due while leadsync was not running runs once
 * after the start. A failed one is retried with back-off. Also runs those in `underway`. A name is in `underway` until its run has ended, whatever
 * caused the run, so that no second run can be requested meanwhile.
 */
export async function exportOnSchedule(
  exportsNow: () => readonly ExportConfig[],
  parts: ExportParts,
  onRunEnd: OnRunEnd,
  signal: AbortSignal,
  underway = new Set<string>(),
): Promise<void> {
  const { states, clock } = parts;
  let known: string | undefined;
  while (!signal.aborted) {
    const exports = exportsNow();
    const names = exports.map(({ name }) => name).join();
    if (known !== names) await forgetOthers(exports, states, underway);
    known = names;
    for (const config of exports) {
      if (signal.aborted) return;
      await runIfDue(config, parts, onRunEnd, signal, underway);
    }
    await nextBeat(clock, CHECK_INTERVAL_MS, signal);
  }
}

/** Runs an export if it is due, or in `underway`. Does nothing while the ledger is away, which is reported elsewhere. */
async function runIfDue(
  config: ExportConfig,
  parts: ExportParts,
  onRunEnd: OnRunEnd,
  signal: AbortSignal,
  underway: Set<string>,
): Promise<void> {
  try {
    const state = await currentState(config, parts);
    const isRequested = underway.has(config.name);
    const isWanted = (now: ExportState) => isRequested || isDue(config, now, parts.clock.now());
    if (!isWanted(state)) return;
    underway.add(config.name);
    try {
      const startedMs = parts.clock.monotonicMs();
      const made = await exportOnce(config, parts, signal, isWanted);
      if (made.state) onRunEnd(config, made.result, { startedMs, state: made.state });
    } finally {
      underway.delete(config.name);
    }
  } catch (error) {
    if (!(error instanceof LedgerError)) throw error;
  }
}

/** What came of a request to run an export. `state` is undefined if nothing ran. */
interface Outcome {
  readonly result: ExportResult;
  readonly state: ExportState | undefined;
}

/**
 * Runs an export or backup now and stores its result. Runs nothing if another process is running it, or has run it since, so that `isWanted` is no
 * longer true. @throws LedgerError if the server that has the states cannot be reached
 */
export async function exportOnce(
  config: ExportConfig,
  parts: ExportParts,
  signal: AbortSignal,
  isWanted: (state: ExportState) => boolean = () => true,
): Promise<Outcome> {
  const claim = await parts.states.claim(config.name).catch((error: unknown) => {
    if (error instanceof LedgerError) throw error;
    return NO_CLAIM; // the run reports a folder that cannot be used
  });
  if (!claim) return { result: { kind: 'busy' }, state: undefined };
  try {
    const before = await currentState(config, parts);
    if (!isWanted(before)) return { result: { kind: 'busy' }, state: undefined };
    return await run(config, before, parts, AbortSignal.any([signal, claim.lost]));
  } finally {
    await claim.release();
  }
}

/** In place of a claim that could not be made because of the disk. */
const NO_CLAIM = { lost: new AbortController().signal, release: async () => undefined };

async function run(
  config: ExportConfig,
  before: ExportState,
  { states, ledger, clock, random, niceness }: ExportParts,
  signal: AbortSignal,
): Promise<Outcome> {
  const goesOn = before.done !== undefined && isSameExport(before.done.config, config);
  const startedAt = clock.now();
  const run = {
    ledger,
    at: startedAt,
    exportedAt: exportedAtOf(before, startedAt),
    last: goesOn && config.rows === 'new' ? lastOf(before, ledger) : undefined,
    first: !goesOn,
  };
  const result = await runExport(config, run, { folder: states.folder, niceness }, signal);
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
    const { place, rows, bytes, ledgerAt } = result;
    const times = { startedAt: run.at, ledgerAt, exportedAt: run.exportedAt, finishedAt: now };
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

/** Returns the state of an export. After a change of its configuration, clears the failure, because the change may have fixed it. */
async function currentState(config: ExportConfig, { states, clock }: ExportParts): Promise<ExportState> {
  const state = await states.read(config.name);
  const described = describeExport(config);
  if (state?.config === described) return state;
  const known = state?.config === NOT_CONFIGURED ? undefined : state;
  const now = { since: clock.now(), ...known, config: described, failed: undefined };
  await states.write(config.name, now);
  return now;
}

/**
 * Forgets exports that are no longer configured, and requests to run them. Keeps the states of those that wrote files, because an erasure must
 * still report where the files are.
 */
async function forgetOthers(
  exports: readonly ExportConfig[],
  states: ExportStates,
  underway: Set<string>,
): Promise<void> {
  for (const name of underway) if (!exports.some((one) => one.name === name)) underway.delete(name);
  // Each export reports an unusable folder itself, and so does an erasure.
  await removeStagedOfOthers(states.folder, new Set(exports.map(({ name }) => name))).catch(() => undefined);
  for (const name of await namesOfOthers(exports, states).catch(() => [])) {
    const state = await states.read(name);
    if (!state) continue; // a state that cannot be read now may name files
    if (!state.done) await states.forget(name);
    else if (state.config !== NOT_CONFIGURED) await states.write(name, { ...state, config: NOT_CONFIGURED });
  }
}

async function namesOfOthers(exports: readonly ExportConfig[], states: ExportStates): Promise<string[]> {
  const names = new Set(exports.map(({ name }) => name));
  return (await states.names()).filter((name) => !names.has(name));
}

/**
 * Whether an export is due. If the state contains a time in the future, the clock has been set back since the state was written; the export
 * is then due immediately.
 */
function isDue(config: ExportConfig, state: ExportState, now: Date): boolean {
  if (state.failed) return state.failed.retryAt <= now || state.failed.at > now;
  return dueAt(config, state) <= now || (state.done?.startedAt ?? state.since) > now;
}

/**
 * Returns the time of an export, always later than the time of its last run. Of several copies of a row, the latest counts, so these times
 * must increase even if the clock was set back.
 */
function exportedAtOf({ done }: ExportState, now: Date): Date {
  const last = done?.exportedAt ?? done?.startedAt;
  return last && last >= now ? new Date(last.getTime() + 1) : now;
}

/**
 * Returns when the last run began to read, by the clock of the ledger. Returns undefined, which selects all rows, if that is not known, or if the last
 * run was made by a version of leadsync that wrote no `_exported_at`: exports of that version also omitted changed rows.
 */
function lastOf({ done }: ExportState, { kind }: TablesPlace): Date | undefined {
  if (!done?.exportedAt) return undefined;
  return done.ledgerAt ?? (kind === 'file' ? done.startedAt : undefined);
}

function isSameExport(before: string, config: ExportConfig): boolean {
  return differingOptions(before, describeExport(config)).every((option) => WHEN.has(option));
}
