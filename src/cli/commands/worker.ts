import type { Config } from '../../config/contract/config.ts';
import { readWithStamp } from '../../daemon/watching/watch-config.ts';
import { isLoopback } from '../../platform/http/address.ts';
import { type Address, readAddress } from '../arguments/address.ts';
import { defineCommand } from '../shell/command.ts';
import { CommandFailure } from '../shell/command-failure.ts';
import { configOf } from '../shell/context.ts';
import { ExitCode } from '../shell/exit-code.ts';
import { untilStopped } from './run.ts';

/** `leadsync worker`: delivers what a `run` dispatches, until a stop signal. */
export const command = defineCommand<{ listen?: Address }>({
  examples: ['leadsync worker', 'leadsync worker --listen 127.0.0.1:9465'],
  notes:
    'Start any number of workers beside `leadsync run`: on the same machine, or, with a ledger in PostgreSQL, on any machine. SIGHUP applies a changed configuration.',
  declare: (command) =>
    command.option(
      '--listen <host:port>',
      "serve this worker's probes and metrics on this address",
      readAddress,
    ),
  run: async (options, surroundings) => {
    const load = () => configOf(options, surroundings);
    const { config, loadedStamp } = readWithStamp(options.config, load);
    if (!config.queue.redis) {
      throw new CommandFailure(
        ExitCode.configuration,
        'A worker takes its deliveries from a queue, but this configuration has none.',
        'Set queue.redis_url or queue.redis. Without a queue you need no worker: `leadsync run` delivers by itself.',
      );
    }
    requireToken(options.listen, config);
    return untilStopped({
      config,
      loadedStamp,
      load,
      role: { kind: 'worker' },
      admin: options.listen,
      log: surroundings.stderr,
      env: surroundings.env,
    });
  },
});

/** Refuses to let other machines reach the worker without a token, because probes and metrics reveal details of the installation. */
function requireToken(listen: Address | undefined, { adminTokens }: Config): void {
  if (!listen || adminTokens.length > 0 || isLoopback(listen.host)) return;
  throw new CommandFailure(
    ExitCode.configuration,
    `Other machines can reach the worker at ${listen.host}, but no admin.token is set.`,
    'Set admin.token in the configuration (`openssl rand -hex 32` generates one), or listen on 127.0.0.1.',
  );
}
