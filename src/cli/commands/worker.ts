import { type Address, readAddress } from '../address.ts';
import { defineCommand } from '../command.ts';
import { configOf } from '../context.ts';
import { ExitCode } from '../exit-code.ts';
import { CommandFailure } from '../failure.ts';
import { untilStopped } from './run.ts';

/** `leadsync worker`: delivers what a `run` on the same machine dispatches, until a signal asks it to stop. */
export const worker = defineCommand<{ listen?: Address }>({
  usage: 'worker',
  summary: 'deliveries alone, beside a `run --no-deliver`',
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
    const load = () => configOf(options, surroundings);
    return untilStopped({
      config,
      load,
      role: { kind: 'worker' },
      admin: options.listen,
      log: surroundings.stderr,
      env: surroundings.env,
    });
  },
});
