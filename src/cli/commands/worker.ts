import { configOf, type GlobalOptions, type Surroundings } from '../context.ts';
import { ExitCode } from '../exit-code.ts';
import { CommandFailure } from '../failure.ts';
import { untilStopped } from './run.ts';

/** `leadsync worker`: delivers what a `run` on the same machine dispatches, until a signal asks it to stop. */
export async function worker(
  options: GlobalOptions & { listen?: { host: string; port: number } },
  surroundings: Surroundings,
): Promise<number> {
  const config = configOf(options, surroundings);
  if (!config.queue.redisUrl) {
    throw new CommandFailure(
      ExitCode.configuration,
      'A worker takes its deliveries from a queue, and this configuration has none.',
      'Set queue.redis_url; or run no worker, for without a queue `leadsync run` delivers by itself.',
    );
  }
  return untilStopped(
    { config, role: { kind: 'worker' }, admin: options.listen, log: surroundings.stderr },
    config.gracePeriodMs,
  );
}
