import { Daemon } from '../../daemon/daemon.ts';
import { listenForStop } from '../../platform/stop-signals.ts';
import { configOf, type GlobalOptions, type Surroundings } from '../context.ts';
import { ExitCode } from '../exit-code.ts';
import { Progress } from '../progress.ts';

/** `leadsync sync`: polls every source once and delivers all that is due. Exit 0 when nothing is pending or dead. */
export async function sync(
  options: GlobalOptions & { json?: boolean },
  surroundings: Surroundings,
): Promise<number> {
  const config = configOf(options, surroundings);
  const { stdout, stderr } = surroundings;
  const progress = new Progress(stderr);
  // Problems are told by the log; what goes well is told by the progress and the result.
  const log =
    config.log.level === 'info' ? { ...config, log: { ...config.log, level: 'warn' as const } } : config;
  const stop = listenForStop((name) => process.exit(name === 'SIGINT' ? 130 : 143));
  const daemon = await Daemon.start({
    config: log,
    role: { kind: 'sync' },
    admin: config.admin,
    log: progress,
    subscribers: [progress.observe],
  });
  const failures = await daemon.pollOnce(stop.signal);
  await daemon.drained(stop.signal);
  const status = await daemon.status();
  await daemon.stop('sync is done', stop.signal.aborted ? config.gracePeriodMs : 0);
  progress.end();
  stop.release();
  for (const { report, reason, hint } of failures) stderr.write(`${report.source}: ${reason} ${hint}\n`);
  const sinks = status.sinks.filter((sink) => sink.active);
  if (options.json) stdout.write(`${JSON.stringify({ sources: status.sources, sinks }, null, 2)}\n`);
  else
    for (const { sink, delivered, pending, dead } of sinks)
      stdout.write(`${sink}: ${delivered} delivered, ${pending} pending, ${dead} dead\n`);
  const open = sinks.some(({ pending, dead }) => pending + dead > 0);
  return failures.length > 0 || open || stop.signal.aborted ? ExitCode.notDone : ExitCode.done;
}
