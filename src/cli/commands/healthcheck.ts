import { hostAndPort } from '../../platform/http/address.ts';
import { type Address, readAddress } from '../arguments/address.ts';
import { askDaemon, type DaemonTarget, daemonTarget, reachable } from '../running/ask-daemon.ts';
import { defineCommand } from '../shell/command.ts';
import { CommandFailure } from '../shell/command-failure.ts';
import { commandFormatter, readableConfigOf } from '../shell/context.ts';
import { ExitCode } from '../shell/exit-code.ts';

/** `leadsync healthcheck`: checks whether the running leadsync answers. For containers, whose images may lack a program such as curl. */
export const command = defineCommand<{ at?: Address }>({
  examples: ['leadsync healthcheck', 'leadsync healthcheck --at 127.0.0.1:9465'],
  notes: 'It requests /livez from the leadsync that holds the data directory, and waits up to 3 seconds.',
  declare: (command) =>
    command.option('--at <host:port>', 'check this address, for example a worker with --listen', readAddress),
  run: async (options, surroundings) => {
    const asked: DaemonTarget | undefined = options.at
      ? { address: options.at, instance: 'any' }
      : daemonTarget(readableConfigOf(options, surroundings));
    if (!asked)
      throw new CommandFailure(
        ExitCode.notDone,
        'There is no address to check: admin.listen is off in this configuration.',
        'Set it to an address such as 127.0.0.1:9464, or use --at.',
      );
    const shown = hostAndPort(reachable(asked.address));
    const answer = await askDaemon(asked, '/livez');
    const fault =
      'failure' in answer
        ? answer.failure
        : answer.status !== 200 && `it answered with HTTP ${answer.status}`;
    if (fault)
      throw new CommandFailure(
        ExitCode.notDone,
        `leadsync at ${shown} is not healthy: ${fault}.`,
        `Check whether ${commandFormatter(options, surroundings)('run')} is running, and read its log.`,
      );
    surroundings.stdout.write(`leadsync at ${shown} answers.\n`);
    return ExitCode.done;
  },
});
