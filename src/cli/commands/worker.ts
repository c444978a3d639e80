import type { Config } from '../../config/contract/config.ts';
import { isLoopback } from '../../platform/http/loopback.ts';
import { type Address, readAddress } from '../shell/address.ts';
import { defineCommand } from '../shell/command.ts';
import { CommandFailure } from '../shell/command-failure.ts';
import { configOf, valuesOf } from '../shell/context.ts';
import { ExitCode } from '../shell/exit-code.ts';
import { untilStopped } from './run.ts';

/** `leadsync worker`: delivers what a `run` on the same machine dispatches, until a signal asks it to stop. */
export const command = defineCommand<{ listen?: Address }>({
  examples: ['leadsync worker', 'leadsync worker --listen 127.0.0.1:9465'],
  notes:
    'Start as many as you like, on the machine where `leadsync run` is: they share its ledger. SIGHUP takes a changed configuration over.',
  declare: (command) =>
    command.option('--listen <host:port>', 'serve probes and metrics of this worker there', readAddress),
  run: async (options, surroundings) => {
    const config = configOf(options, surroundings);
    if (!config.queue.redisUrl) {
      throw new CommandFailure(
        ExitCode.configuration,
        'A worker takes its deliveries from a queue, and this configuration has none.',
        'Set queue.redis_url; or run no worker, for without a queue `leadsync run` delivers by itself.',
      );
    }
    requireToken(options.listen, config);
    const load = () => configOf(options, surroundings);
    return untilStopped({
      config,
      load,
      describe: () => valuesOf(options, surroundings),
      role: { kind: 'worker' },
      admin: options.listen,
      log: surroundings.stderr,
      env: surroundings.env,
    });
  },
});

/** What other machines reach tells of the installation: it needs a credential. */
function requireToken(listen: Address | undefined, { adminToken }: Config): void {
  if (!listen || adminToken || isLoopback(listen.host)) return;
  throw new CommandFailure(
    ExitCode.configuration,
    `Other machines can reach ${listen.host}, and no admin.token is set.`,
    'Set admin.token in the configuration (`openssl rand -hex 32` makes one), or listen on 127.0.0.1.',
  );
}
