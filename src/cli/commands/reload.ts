import { type Fault, formatFault } from '../../config/contract/config-error.ts';
import { hostAndPort } from '../../platform/http/host-and-port.ts';
import { printable, printJson } from '../../platform/text/printable.ts';
import { askDaemon, whomToAsk } from '../running/ask-daemon.ts';
import { defineCommand } from '../shell/command.ts';
import { CommandFailure } from '../shell/command-failure.ts';
import { despiteFaults } from '../shell/context.ts';
import { ExitCode } from '../shell/exit-code.ts';

/** A poll's end is not waited for, but sinks and the queue are told. */
const RELOAD_MS = 30_000;

/** `leadsync reload`: lets the running leadsync take its changed configuration over. */
export const command = defineCommand<{ json?: boolean }>({
  examples: ['leadsync reload', 'leadsync validate && leadsync reload'],
  notes:
    'What is under way ends under the old configuration. One that is not valid changes nothing: exit 78, with every fault.\nSIGHUP does the same; with `watch: true` in the configuration it happens by itself.',
  declare: (command) => command.option('--json', 'print the result as JSON'),
  run: async ({ json, ...options }, surroundings) => {
    // Of a configuration with faults the address may be all right; then it is for the running one to say what is wrong.
    const config = despiteFaults(options, surroundings);
    const { adminToken, faults: here = [] } = config;
    const asked = whomToAsk(config);
    if (!asked)
      throw new CommandFailure(
        ExitCode.usage,
        'admin.listen is off, so the running leadsync cannot be asked.',
        'Send it SIGHUP instead: kill -HUP and its process id.',
      );
    const answer = await askDaemon(asked, '/-/reload', {
      method: 'POST',
      withinMs: RELOAD_MS,
      token: adminToken,
    });
    const address = hostAndPort(asked.address);
    const result = 'failure' in answer ? undefined : readResult(answer.body);
    if (!result) {
      const isLocked = !('failure' in answer) && answer.status === 401;
      if (isLocked && here.length === 0) throw wrongToken(address);
      const other = isLocked ? 'it wants another admin.token' : 'something else answers';
      const why = 'failure' in answer ? answer.failure : `${other} (${answer.status})`;
      if (here.length > 0) throw notAsked(here, address, why);
      throw new CommandFailure(
        ExitCode.unreachable,
        `The running leadsync could not be asked at ${address}: ${why}.`,
        'See whether it runs; if admin.listen or data_dir has changed since it started, restart it.',
      );
    }
    if (result.applied && here.length > 0)
      throw notAsked(here, address, 'what answers there runs with another file');
    if (json) surroundings.stdout.write(printJson(result));
    else if (result.applied) surroundings.stdout.write(`${applied(result)}\n`);
    else for (const fault of result.faults) surroundings.stderr.write(`${printable(fault)}\n`);
    if (!result.applied && !json)
      surroundings.stderr.write(`Nothing has changed: generation ${result.generation} stays in force.\n`);
    return result.applied ? ExitCode.done : ExitCode.configuration;
  },
});

/** The file has faults, and because of them, perhaps, the running leadsync was looked for at a wrong place. */
function notAsked(faults: readonly Fault[], address: string, why: string): CommandFailure {
  return new CommandFailure(
    ExitCode.configuration,
    faults.map(formatFault).join('\n'),
    `Nothing has changed. The running leadsync was looked for at ${address}, which may be wrong for the faults above: ${why}.`,
  );
}

function wrongToken(address: string): CommandFailure {
  return new CommandFailure(
    ExitCode.notDone,
    `The running leadsync at ${address} wants another admin.token than this configuration has at hand.`,
    'Set what admin.token names for this command as well; or send it SIGHUP: kill -HUP and its process id.',
  );
}

type Result =
  | { applied: true; generation: number; changes: string[]; restart: string[] }
  | { applied: false; generation: number; faults: string[] };

function readResult(body: string): Result | undefined {
  try {
    const result = JSON.parse(body) as Partial<Result> | null;
    return typeof result?.applied === 'boolean' ? (result as Result) : undefined;
  } catch {
    return undefined; // whoever listens there is no leadsync
  }
}

function applied({ generation, changes, restart }: Extract<Result, { applied: true }>): string {
  const what = changes.length > 0 ? `${changes.map(printable).join('\n')}\n` : 'Nothing has changed.\n';
  const later = restart.length > 0 ? `Only a restart changes ${restart.join(', ')}.\n` : '';
  return `${what}${later}Generation ${generation} is in force.`;
}
