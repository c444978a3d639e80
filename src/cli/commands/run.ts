import { Daemon, type Role } from '../../daemon/daemon.ts';
import { listenForStop } from '../../platform/stop-signals.ts';
import { configOf, type GlobalOptions, type Surroundings } from '../context.ts';
import { ExitCode } from '../exit-code.ts';
import { CommandFailure } from '../failure.ts';

/** `leadsync run`: polls on schedule and delivers, until a signal asks it to stop. */
export async function run(
  options: GlobalOptions & { deliver: boolean },
  surroundings: Surroundings,
): Promise<number> {
  const config = configOf(options, surroundings);
  if (!options.deliver && !config.queue.redisUrl) {
    throw new CommandFailure(
      ExitCode.configuration,
      'Without a queue, deliveries run in this very process, so --no-deliver would leave them undone.',
      'Set queue.redis_url and start `leadsync worker` beside it, or leave --no-deliver out.',
    );
  }
  const daemon = {
    config,
    role: { kind: 'run', deliver: options.deliver } as Role,
    admin: config.admin,
    log: surroundings.stderr,
  };
  return untilStopped(daemon, config.gracePeriodMs);
}

/** Keeps a daemon running until the first signal, and ends at once with the second. */
export async function untilStopped(
  options: Parameters<typeof Daemon.start>[0],
  graceMs: number,
): Promise<number> {
  const stop = listenForStop((name) => process.exit(name === 'SIGINT' ? 130 : 143));
  const daemon = await Daemon.start(options);
  if (!stop.signal.aborted)
    await new Promise((resolve) => stop.signal.addEventListener('abort', resolve, { once: true }));
  await daemon.stop(String(stop.signal.reason), graceMs);
  return ExitCode.done;
}
