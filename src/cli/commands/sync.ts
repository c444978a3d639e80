import type { Config } from '../../config/contract/config.ts';
import { Daemon } from '../../daemon/daemon.ts';
import type { PolledOnce } from '../../daemon/joints/poll.ts';
import type { LedgerStatus } from '../../ledger/contract/status-rows.ts';
import { listenForStop } from '../../platform/process/stop-signals.ts';
import { listenForCrash } from '../../platform/process/unhandled-errors.ts';
import { printable, printJson } from '../../platform/text/printable.ts';
import { statusJson } from '../../status/status-json.ts';
import { createLogger } from '../../telemetry/logger.ts';
import { defineCommand } from '../shell/command.ts';
import { CommandFailure } from '../shell/command-failure.ts';
import {
  commandFormatter,
  configOf,
  exportViewsOf,
  type GlobalOptions,
  type Surroundings,
} from '../shell/context.ts';
import { ExitCode } from '../shell/exit-code.ts';
import { recordAction } from '../shell/record-action.ts';
import { Progress } from '../shell/sync-progress.ts';
import { SyncResult } from '../views/sync-result.ts';

/**
 * `leadsync sync`: polls every source once and delivers everything that is due. Exit 0 if every poll succeeded and no delivery is pending
 * or dead.
 */
export const command = defineCommand<{ json?: boolean }>({
  examples: ['leadsync sync', 'leadsync sync --json'],
  notes:
    'Prints what this run read and delivered; the number in brackets includes all earlier runs. It does not wait for batches to fill. Exit 0 if every poll succeeded and no delivery is pending or dead, 75 if other machines poll all sources, else 1.',
  declare: (command) => command.option('--json', 'print the result as JSON'),
  run: async (options, surroundings) => {
    const config = configOf(options, surroundings);
    await recordAction(config, surroundings, 'sync');
    const stop = listenForStop((name) => process.exit(name === 'SIGINT' ? 130 : 143));
    const synced = await syncOnce(config, surroundings, stop.signal).finally(stop.release);
    const { polled, status } = synced;
    await printResult(config, synced, options, surroundings);
    if (polled.length > 0 && polled.every(({ elsewhere }) => elsewhere)) return ExitCode.inUse;
    const open = status.sinks.some(({ active, pending, dead }) => active && pending + dead > 0);
    const failed = polled.some(({ failure }) => failure);
    return failed || open || stop.signal.aborted ? ExitCode.notDone : ExitCode.done;
  },
});

const SHOW_PENDING_MS = 500;

interface SyncOutcome {
  readonly polled: readonly PolledOnce[];
  readonly status: LedgerStatus;
  readonly result: SyncResult;
}

async function syncOnce(config: Config, { stderr }: Surroundings, signal: AbortSignal): Promise<SyncOutcome> {
  const progress = new Progress(stderr);
  const release = listenForCrash((error) => createLogger({ ...config.log, stream: progress }).crash(error));
  return pollAndDeliver(config, progress, signal).finally(release);
}

async function pollAndDeliver(config: Config, progress: Progress, signal: AbortSignal): Promise<SyncOutcome> {
  const result = new SyncResult();
  // The log reports only problems; the progress line and the result report the rest.
  const level = config.log.level === 'info' ? 'warn' : config.log.level;
  const daemon = await Daemon.start({
    config: { ...config, log: { ...config.log, level } },
    role: { kind: 'sync' },
    admin: config.admin,
    log: progress,
    subscribers: [progress.observe, result.observe],
    stop: signal,
  });
  // Ignores errors: the number is only for display, and the next operation that fails reports why.
  const look = () => void daemon.pending().then(progress.pending, () => undefined);
  const looking = setInterval(look, SHOW_PENDING_MS);
  let failure: Awaited<Daemon['failed']> | undefined;
  const failed = new AbortController();
  void daemon.failed.then((found) => {
    failure = found;
    failed.abort();
  });
  const daemonFailure = () => failure; // the compiler takes `failure` for undefined after the `try`
  try {
    const polled = await workOff(daemon, AbortSignal.any([signal, failed.signal]));
    const status = await daemon.status();
    if (daemonFailure() === undefined) return { polled, status, result };
  } catch (error) {
    if (daemonFailure() === undefined) throw error; // otherwise perhaps a consequence
  } finally {
    clearInterval(looking);
    const found = daemonFailure();
    if (found) await daemon.stop(found.reason, found.graceMs);
    else if (signal.aborted) await daemon.stop(String(signal.reason), config.gracePeriodMs);
    else await daemon.stop('sync is done', 0);
    progress.end();
  }
  throw new CommandFailure(
    ExitCode.notDone,
    `sync has ended early, because ${daemonFailure()?.reason}.`,
    'What it has recorded stays. The log above says what to do.',
  );
}

/** Polls every source once, and delivers what is due, until the signal aborts. Returns what came of the polls. */
async function workOff(daemon: Daemon, signal: AbortSignal): Promise<readonly PolledOnce[]> {
  const polled = await daemon.pollOnce(signal);
  await daemon.drained(signal);
  await daemon.computeMissingClientKeys(signal);
  await daemon.mirrorOnce(signal);
  return polled;
}

async function printResult(
  config: Config,
  { polled, status, result }: SyncOutcome,
  options: GlobalOptions & { json?: boolean },
  surroundings: Surroundings,
): Promise<void> {
  const { stdout, stderr } = surroundings;
  for (const { source, failure, elsewhere } of polled) {
    if (failure) stderr.write(`${source}: ${printable(`${failure.reason} ${failure.hint}`)}\n`);
    if (elsewhere)
      stderr.write(
        `${source}: ${printable(`A leadsync ${elsewhere.role} on ${elsewhere.machine} polls it.`)}\n`,
      );
  }
  if (options.json) {
    stdout.write(printJson(await resultJson(config, status, result, surroundings)));
    return;
  }
  for (const { name } of config.sources) {
    const read = result.readFrom(name);
    if (read) stdout.write(`${name}: ${read}\n`);
  }
  const sinks = status.sinks.filter(({ active }) => active);
  for (const { sink, delivered, pending, dead } of sinks)
    stdout.write(
      `${sink}: ${result.deliveredTo(sink)} delivered (${delivered} in total), ${pending} pending, ${dead} dead\n`,
    );
  for (const { sink, pending, health, retrying } of sinks) {
    const reason = health.pausedReason ?? health.heldReason ?? retrying?.reason;
    if (pending > 0 && reason !== undefined) stderr.write(`${sink}: ${printable(reason)}\n`);
  }
  if (sinks.some(({ pending, dead }) => pending + dead > 0))
    stderr.write(
      `${commandFormatter(options, surroundings)('status')} shows the remaining deliveries, and what to do about them.\n`,
    );
}

async function resultJson(
  config: Config,
  status: LedgerStatus,
  result: SyncResult,
  surroundings: Surroundings,
) {
  const exports = await exportViewsOf(config, surroundings);
  const { sinks, ...json } = statusJson(config, status, exports);
  return { ...json, sinks: sinks.map((sink) => ({ ...sink, delivered_now: result.deliveredTo(sink.sink) })) };
}
