import { Daemon } from '../../daemon/daemon.ts';
import type { DaemonOptions, Role } from '../../daemon/start/parts.ts';
import { readWithStamp } from '../../daemon/watching/watch-config.ts';
import { StoppedBeforeStart } from '../../operations/opening/new-ledger.ts';
import { listenForReload, listenForStop } from '../../platform/process/stop-signals.ts';
import { listenForCrash } from '../../platform/process/unhandled-errors.ts';
import { createLogger } from '../../telemetry/logger.ts';
import { defineCommand } from '../shell/command.ts';
import { CommandFailure } from '../shell/command-failure.ts';
import { configOf } from '../shell/context.ts';
import { ExitCode } from '../shell/exit-code.ts';

/** `leadsync run`: polls on schedule and delivers until a stop signal. */
export const command = defineCommand<{ deliver: boolean }>({
  examples: ['leadsync run', 'leadsync run -c /etc/leadsync.yaml', 'leadsync run --no-deliver'],
  notes:
    'SIGHUP and `leadsync reload` apply a changed configuration while it runs. On SIGTERM or Ctrl-C it first finishes the polls and attempts in progress, for at most stop.grace; a second signal ends it immediately. Nothing is lost.',
  declare: (command) => command.option('--no-deliver', 'leave the deliveries to `leadsync worker`'),
  run: async ({ deliver, ...options }, surroundings) => {
    const load = () => configOf(options, surroundings);
    const { config, loadedStamp } = readWithStamp(options.config, load);
    if (!deliver && !config.queue.redis) {
      throw new CommandFailure(
        ExitCode.configuration,
        'Without a queue, only this process can deliver, so nothing would be delivered with --no-deliver.',
        'Set queue.redis_url or queue.redis and also start `leadsync worker`, or remove --no-deliver.',
      );
    }
    const role: Role = { kind: 'run', deliver };
    const { stderr: log, env } = surroundings;
    return untilStopped({ config, loadedStamp, load, role, admin: config.admin, log, env });
  },
});

/**
 * Runs a daemon until the first stop signal, or until it cannot continue. Returns the exit code. A second stop signal ends the process
 * immediately. SIGHUP reloads the configuration.
 */
export async function untilStopped(options: DaemonOptions): Promise<number> {
  const { config, log } = options;
  listenForCrash((error) => createLogger({ ...config.log, stream: log }).crash(error));
  const stop = listenForStop((name) => process.exit(name === 'SIGINT' ? 130 : 143), { hangup: 'reloads' });
  const started = Promise.withResolvers<Daemon>();
  let isStopping = false;
  // A SIGHUP during startup causes a reload afterwards, because the file may have changed since it was read. SIGHUP never ends the process.
  listenForReload(() => {
    void started.promise.then((daemon) => (isStopping ? undefined : daemon.reload('SIGHUP')));
  });
  const daemon = await startUnlessStopped({ ...options, stop: stop.signal });
  if (daemon === undefined) return ExitCode.done;
  started.resolve(daemon);
  const asked = new Promise<undefined>((resolve) => {
    if (stop.signal.aborted) resolve(undefined);
    stop.signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
  const failure = await Promise.race([asked, daemon.failed]);
  isStopping = true;
  if (failure === undefined) await daemon.stop(String(stop.signal.reason), daemon.config.gracePeriodMs);
  else await daemon.stop(failure.reason, failure.graceMs);
  return failure === undefined ? ExitCode.done : ExitCode.notDone;
}

async function startUnlessStopped(options: DaemonOptions): Promise<Daemon | undefined> {
  try {
    return await Daemon.start(options);
  } catch (error) {
    if (error instanceof StoppedBeforeStart) return undefined;
    throw error;
  }
}
