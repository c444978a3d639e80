import type { LedgerConfig } from '../../config/contract/config.ts';
import type { Ledger } from '../../ledger/contract/ledger.ts';
import type { PollRow } from '../../ledger/contract/status-rows.ts';
import { isDataDirInUse } from '../../operations/opening/open-ledger.ts';
import { hostAndPort } from '../../platform/http/address.ts';
import { printable, printJson } from '../../platform/text/printable.ts';
import { readPollError } from '../../status/poll-error.ts';
import { lastPollJson } from '../../status/status-json.ts';
import { requireName } from '../arguments/require-name.ts';
import { askDaemon, type DaemonTarget, daemonTarget } from '../running/ask-daemon.ts';
import { defineCommand } from '../shell/command.ts';
import { CommandFailure } from '../shell/command-failure.ts';
import { commandFormatter, readableConfigOf, type ShowCommand, withLedger } from '../shell/context.ts';
import { ExitCode } from '../shell/exit-code.ts';
import { recordAction } from '../shell/record-action.ts';
import { countsOf } from '../views/sync-result.ts';

/** Interval for checking whether the polls have ended, in ms. */
const CHECK_INTERVAL_MS = 100;

/** `leadsync poll [SOURCE]`: makes the running leadsync poll now, and prints what the polls found. */
export const command = defineCommand<{ json?: boolean }>({
  examples: ['leadsync poll', 'leadsync poll main'],
  notes:
    'Polls every source, or the named one, without waiting for `poll.every` or `poll.cron`, or for the back-off after a failure. If a poll is already in progress, the command waits for that one. The exit code is 0 if every poll succeeded, otherwise 1. Ctrl-C ends the command, but not the poll.',
  declare: (command) => command.option('--json', 'print the polls as JSON'),
  run: async ({ json, ...options }, surroundings, [source]) => {
    const config = readableConfigOf(options, surroundings);
    const known = config.sources.map(({ name }) => name);
    requireName('source', source, known);
    const isRecorded = await recordAction(config, surroundings, 'poll', { source });
    const daemon = runningDaemon(config, commandFormatter(options, surroundings), isRecorded);
    const { stdout, stderr, clock } = surroundings;
    const polls = await withLedger(config, surroundings, async (ledger) => {
      const polling = (source === undefined ? known : [source]).map(async (name) => {
        const before = await lastPoll(ledger, name);
        await daemon.request(name);
        for (;;) {
          const poll = await lastPoll(ledger, name);
          if (poll && poll.status !== 'running' && !(isEnded(before) && poll.poll === before?.poll))
            return poll;
          if (!isDataDirInUse(config.dataDir)) throw daemon.gone();
          await clock.sleep(CHECK_INTERVAL_MS);
        }
      });
      return Promise.all(polling);
    });
    if (json) stdout.write(printJson(polls.map((poll) => ({ source: poll.source, ...lastPollJson(poll) }))));
    for (const poll of json ? [] : polls) {
      stdout.write(`${poll.source}: ${countsOf(poll)}${poll.status === 'unchanged' ? ' (unchanged)' : ''}\n`);
      if (poll.error !== undefined)
        stderr.write(`${poll.source}: ${printable(readPollError(poll.error).reason)}\n`);
    }
    return polls.every(({ error }) => error === undefined) ? ExitCode.done : ExitCode.notDone;
  },
});

function isEnded(poll: PollRow | undefined): boolean {
  return poll !== undefined && poll.status !== 'running';
}

async function lastPoll(ledger: Ledger, source: string): Promise<PollRow | undefined> {
  return (await ledger.status()).sources.find((one) => one.source === source)?.lastPoll;
}

/**
 * Returns a function that requests a poll from the running leadsync, which records it unless the command has done so (`isRecorded`), and one that returns the failure to throw if that leadsync has ended.
 * @throws CommandFailure if no leadsync is running, or if it has no address
 */
function runningDaemon(config: LedgerConfig, command: ShowCommand, isRecorded: boolean) {
  const gone = () =>
    new CommandFailure(
      ExitCode.unreachable,
      'No leadsync is running on this data directory, so nothing is polled.',
      `${command('sync')} polls every source once, and delivers; ${command('run')} starts leadsync.`,
    );
  if (!isDataDirInUse(config.dataDir)) throw gone();
  const target = daemonTarget(config);
  if (!target)
    throw new CommandFailure(
      ExitCode.usage,
      'admin.listen is off, so this command cannot reach the running leadsync.',
      'Set it to an address such as 127.0.0.1:9464, and restart leadsync.',
    );
  return {
    gone,
    request: (source: string) => requestPoll(target, source, { token: config.adminToken, isRecorded }),
  };
}

async function requestPoll(
  target: DaemonTarget,
  source: string,
  how: { readonly token: LedgerConfig['adminToken']; readonly isRecorded: boolean },
) {
  const path = `/api/v1/sources/${encodeURIComponent(source)}/poll`;
  const answer = await askDaemon(target, path, { method: 'POST', ...how });
  if ('failure' in answer)
    throw new CommandFailure(
      ExitCode.unreachable,
      `The running leadsync could not be reached at ${hostAndPort(target.address)}: ${answer.failure}.`,
      'Check whether it is running. If admin.listen or data_dir has changed since it started, restart it.',
    );
  if (answer.status === 200) return;
  const { message = `It answered ${answer.status}.`, hint = '' } = errorIn(answer.body);
  throw new CommandFailure(ExitCode.notDone, message, hint);
}

function errorIn(body: string): { readonly message?: string; readonly hint?: string } {
  try {
    return (JSON.parse(body) as { error?: { message?: string; hint?: string } }).error ?? {};
  } catch {
    return {}; // the server is not a leadsync
  }
}
