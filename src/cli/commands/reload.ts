import type { LedgerConfig } from '../../config/contract/config.ts';
import { type Fault, formatFault } from '../../config/contract/config-error.ts';
import { reloadAll } from '../../operations/reload-all.ts';
import { hostAndPort } from '../../platform/http/address.ts';
import { printable, printJson } from '../../platform/text/printable.ts';
import { askDaemon, daemonTarget } from '../running/ask-daemon.ts';
import { defineCommand } from '../shell/command.ts';
import { CommandFailure } from '../shell/command-failure.ts';
import { lenientConfigOf, readableConfigOf, type Surroundings } from '../shell/context.ts';
import { ExitCode } from '../shell/exit-code.ts';
import { recordAction } from '../shell/record-action.ts';

/** Maximum time that the command waits for a reload, in ms. A reload waits for sinks and the queue, but not for polls. */
const RELOAD_MS = 30_000;

/** `leadsync reload`: makes the running leadsync apply its changed configuration. */
export const command = defineCommand<{ json?: boolean; all?: boolean }>({
  examples: ['leadsync reload', 'leadsync validate && leadsync reload', 'leadsync reload --all'],
  notes:
    'Polls and attempts that have started finish with the old configuration. If the configuration is invalid, nothing changes: the command reports every fault and exits with 78. If it is valid but cannot be applied, for example because the ledger is locked, the command says why and exits with 1. SIGHUP does the same; with `watch: true` in the configuration, leadsync reloads automatically. With a ledger in PostgreSQL, --all makes the leadsync of every machine read the file of its own machine, and prints what each did. It exits with 1 if one has refused or has not answered.',
  declare: (command) =>
    command
      .option('--json', 'print the result as JSON')
      .option('--all', 'reload on every machine that works on the ledger (only with `ledger.url`)'),
  run: async ({ json, all, ...options }, surroundings) => {
    if (all) return showAll(readableConfigOf(options, surroundings), json === true, surroundings);
    // The address may be readable despite faults. Then the running leadsync reports the faults.
    const config = lenientConfigOf(options, surroundings);
    const { adminToken, faults: here = [] } = config;
    const asked = daemonTarget(config);
    if (!asked)
      throw new CommandFailure(
        ExitCode.usage,
        'admin.listen is off, so this command cannot reach the running leadsync.',
        'Send it SIGHUP instead: kill -HUP PID.',
      );
    const isRecorded = await recordAction(config, surroundings, 'reload');
    const answer = await askDaemon(asked, '/-/reload', {
      method: 'POST',
      withinMs: RELOAD_MS,
      token: adminToken,
      isRecorded,
    });
    const address = hostAndPort(asked.address);
    const result = 'failure' in answer ? undefined : readResult(answer.body);
    if (!result) {
      const isLocked = !('failure' in answer) && (answer.status === 401 || answer.status === 429);
      if (isLocked && here.length === 0) throw wrongToken(address);
      const other = isLocked ? 'it requires another admin.token' : 'something else answers';
      const why = 'failure' in answer ? answer.failure : `${other} (${answer.status})`;
      if (here.length > 0) throw notReached(here, address, why);
      throw new CommandFailure(
        ExitCode.unreachable,
        `The running leadsync could not be reached at ${address}: ${why}.`,
        'Check whether it is running. If admin.listen or data_dir has changed since it started, restart it.',
      );
    }
    if (result.applied && here.length > 0)
      throw notReached(here, address, 'the leadsync there uses another configuration file');
    if (json) surroundings.stdout.write(printJson(result));
    else if (result.applied) surroundings.stdout.write(`${applied(result)}\n`);
    else for (const reason of reasonsOf(result)) surroundings.stderr.write(`${printable(reason)}\n`);
    if (!result.applied && !json)
      surroundings.stderr.write(
        `${result.failure ? 'The file was not applied' : 'Nothing was changed'}: generation ${result.generation} stays in effect.\n`,
      );
    if (result.applied) return ExitCode.done;
    return result.failure ? ExitCode.notDone : ExitCode.configuration;
  },
});

/** Reloads on every machine, and prints what each process did. @throws CommandFailure if the ledger is in a file, or if no process works on it */
async function showAll(config: LedgerConfig, json: boolean, surroundings: Surroundings): Promise<number> {
  if (config.ledgerServer === undefined)
    throw new CommandFailure(
      ExitCode.usage,
      '--all is for a ledger in PostgreSQL, on which several machines work.',
      'Leave it out: `leadsync reload` reaches the leadsync of this machine. Send a worker SIGHUP.',
    );
  await recordAction(config, surroundings, 'reload', { all: true });
  const { clock, random } = surroundings;
  const asked = (await reloadAll(config, { clock, random, withinMs: RELOAD_MS })) ?? [];
  if (asked.length === 0)
    throw new CommandFailure(
      ExitCode.unreachable,
      'No leadsync works on this ledger, so nothing was reloaded.',
      'Each start reads the file of its machine.',
    );
  const processes = asked.map(({ machine, role, answer }) => ({
    machine,
    role,
    result: answer?.result ?? 'no answer',
    lines: answer?.lines ?? [],
  }));
  if (json) surroundings.stdout.write(printJson({ processes }));
  else
    for (const { machine, role, result, lines } of processes) {
      surroundings.stdout.write(`${printable(machine)} (${role}): ${result}\n`);
      for (const line of lines) surroundings.stdout.write(`  ${printable(line)}\n`);
    }
  const isDone = processes.every(({ result }) => result === 'applied' || result === 'unchanged');
  return isDone ? ExitCode.done : ExitCode.notDone;
}

/**
 * Returns the failure for a request that may have gone to the wrong address, because faults in the configuration file may hide the address
 * of the running leadsync.
 */
function notReached(faults: readonly Fault[], address: string, why: string): CommandFailure {
  return new CommandFailure(
    ExitCode.configuration,
    faults.map(formatFault).join('\n'),
    `Nothing was changed. leadsync was expected at ${address}, which may be wrong because of the faults above: ${why}.`,
  );
}

function wrongToken(address: string): CommandFailure {
  return new CommandFailure(
    ExitCode.notDone,
    `The running leadsync at ${address} requires a different admin.token from the one in this configuration.`,
    'Provide its admin.token to this command as well, or send it SIGHUP: kill -HUP PID.',
  );
}

type Result =
  | { applied: true; generation: number; changes: string[]; restart: string[] }
  /** `failure`: why leadsync could not apply a valid file. */
  | { applied: false; generation: number; faults: string[]; failure?: string | null };

function reasonsOf({ faults, failure }: Extract<Result, { applied: false }>): readonly string[] {
  return failure ? [failure] : faults;
}

function readResult(body: string): Result | undefined {
  try {
    const result = JSON.parse(body) as Partial<Result> | null;
    return typeof result?.applied === 'boolean' ? (result as Result) : undefined;
  } catch {
    return undefined; // the server is not a leadsync
  }
}

function applied({ generation, changes, restart }: Extract<Result, { applied: true }>): string {
  const what = changes.length > 0 ? `${changes.map(printable).join('\n')}\n` : 'Nothing has changed.\n';
  const later = restart.length > 0 ? `A restart is needed to apply ${restart.join(', ')}.\n` : '';
  return `${what}${later}Generation ${generation} is in effect.`;
}
