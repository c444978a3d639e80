import { Option } from 'commander';
import { formatFault } from '../../config/contract/config-error.ts';
import { diskSpace } from '../../operations/disk-space.ts';
import { ledgerPlaceOf } from '../../operations/opening/configured-ledger.ts';
import { printJson } from '../../platform/text/printable.ts';
import { findProblems } from '../../status/problems/find-problems.ts';
import { activityRequest, type Period, periods, sinkDetail } from '../../status/sink-detail.ts';
import { statusJson, verdictJson } from '../../status/status-json.ts';
import { allSinks, viewSinks, viewSources } from '../../status/status-view.ts';
import { requireSink } from '../arguments/require-name.ts';
import { askRunningDaemon } from '../running/running-daemon.ts';
import { paintFor } from '../shell/colour.ts';
import { defineCommand } from '../shell/command.ts';
import { CommandFailure } from '../shell/command-failure.ts';
import {
  commandFormatter,
  exportViewsOf,
  type GlobalOptions,
  lenientConfigOf,
  readableConfigOf,
  type Surroundings,
  secretsOf,
  valuesOf,
  widthOf,
  withLedger,
} from '../shell/context.ts';
import { ExitCode } from '../shell/exit-code.ts';
import { explainFailure } from '../shell/explain-failure.ts';
import { monitorReport, unknownReport } from '../views/monitor-report.ts';
import { sinkReport } from '../views/sink-report.ts';
import { type ReportContext, statusReport } from '../views/status-report.ts';

type Options = { json?: boolean; check?: boolean; period?: Period };

/** The period of `leadsync status SINK`. */
const DEFAULT_PERIOD = '24h';

/** `leadsync status [SINK]`: shows sources, sinks, backlog, dead letters and problems. With SINK, shows everything about one sink. */
export const command = defineCommand<Options>({
  examples: [
    'leadsync status',
    'leadsync status crm --period 7d',
    'leadsync status --check',
    "leadsync status --json | jq '.sinks[] | select(.dead > 0)'",
  ],
  notes: `With a sink: its circuit breaker, success rate, durations, errors, backlog by age, and last attempts. --json prints what GET /api/v1/sinks/SINK returns.
If the configuration has faults, the status shows everything that can be read, followed by each fault. The exit code is then 78.
--check is for monitors such as Nagios, Icinga, Sensu or Consul. Its first line is the state, and its exit code is 0 if nothing needs attention, 1 for warnings, 2 for a critical problem, and 3 if the state cannot be read.`,
  declare: (command) =>
    command
      .option('--json', 'print the status as JSON')
      .addOption(
        new Option('--check', 'print only the problems; the worst sets the exit code').conflicts('json'),
      )
      .addOption(
        new Option(
          '--period <period>',
          `with a sink: the period in which attempts are counted (default: ${DEFAULT_PERIOD})`,
        ).choices(periods),
      ),
  run: async (options, surroundings, [sink]) => {
    if (sink !== undefined) return showSink(sink, options, surroundings);
    if (options.period !== undefined)
      throw new CommandFailure(
        ExitCode.usage,
        '--period needs a sink.',
        'For example: `leadsync status crm --period 7d`.',
      );
    if (options.check) return check(options, surroundings);
    const read = await readStatus(options, surroundings);
    surroundings.stdout.write(
      options.json ? jsonOf(read) : statusReport(read.sources, read.sinks, read.context),
    );
    return read.context.faults.length === 0 ? ExitCode.done : ExitCode.configuration;
  },
});

/** Prints everything about one sink. @throws CommandFailure if there is no such sink */
async function showSink(
  name: string,
  options: Options & GlobalOptions,
  surroundings: Surroundings,
): Promise<number> {
  if (options.check)
    throw new CommandFailure(ExitCode.usage, '--check is for all sinks.', 'Leave the sink out.');
  const config = readableConfigOf(options, surroundings);
  const now = surroundings.clock.now();
  const period = options.period ?? DEFAULT_PERIOD;
  const { status, activity } = await withLedger(config, surroundings, async (ledger) => {
    const known = await ledger.status();
    requireSink(name, config, known);
    return { status: known, activity: await ledger.sinkActivity(name, activityRequest(period, now)) };
  });
  const view = allSinks(config, status).find((one) => one.name === name);
  if (!view) throw new Error(`the sink ${name} is known and has no view`);
  // The values of a file with faults are not known.
  const values = config.faults?.length ? [] : valuesOf(options, surroundings);
  const detail = sinkDetail(view, { period, now, activity, values });
  const columns = widthOf(surroundings);
  surroundings.stdout.write(
    options.json ? printJson(detail) : sinkReport(detail, { now, columns, paint: paintFor(surroundings) }),
  );
  return ExitCode.done;
}

/** Prints the state for a monitor and returns the matching exit code, even if the ledger or the configuration cannot be read. */
async function check(options: Options & GlobalOptions, surroundings: Surroundings): Promise<number> {
  const report = await readStatus(options, surroundings).then(
    ({ sources, sinks, context }) => monitorReport(findProblems(sources, sinks, context), context.faults),
    (error) => unknownReport(explainFailure(error).message),
  );
  surroundings.stdout.write(report.text);
  return report.exitCode;
}

/** @throws ConfigError, LedgerError or CommandFailure if not even the ledger can be read */
async function readStatus(options: GlobalOptions, surroundings: Surroundings) {
  const config = lenientConfigOf(options, surroundings);
  const faults = (config.faults ?? []).map(formatFault);
  const known = await withLedger(config, surroundings, (ledger) => ledger.status()).catch((error) => {
    // A fault may hide the path of the ledger. So report the faults before this error, which may be only a consequence of them.
    throw faults.length === 0
      ? error
      : new CommandFailure(ExitCode.configuration, faults.join('\n'), explainFailure(error).message);
  });
  const holder = await askRunningDaemon(config);
  const { stale } = holder;
  const context: ReportContext & { readonly faults: readonly string[] } = {
    now: surroundings.clock.now(),
    ...holder,
    usedElsewhere: await ledgerPlaceOf(config).usedElsewhere(),
    // The report shows the current faults of the file once, at its end.
    stale: stale && faults.length > 0 ? { ...stale, faults: [] } : stale,
    exports: await exportViewsOf(config, surroundings),
    disk: await diskSpace(config),
    restoredAt: known.restoredAt,
    machines: known.machines,
    queued: config.queue.redis !== undefined,
    secrets: () => secretsOf(config, options, surroundings),
    namesOrigins: true,
    command: commandFormatter(options, surroundings),
    columns: widthOf(surroundings),
    paint: paintFor(surroundings),
    faults,
  };
  return {
    config,
    known,
    stale,
    context,
    sources: viewSources(config, known),
    sinks: viewSinks(config, known),
  };
}

function jsonOf({
  config,
  known,
  stale,
  context,
  sources,
  sinks,
}: Awaited<ReturnType<typeof readStatus>>): string {
  return printJson({
    installation: config.name ?? null,
    running: context.running,
    unready: context.unready,
    config_stale: stale ?? null,
    ...verdictJson(findProblems(sources, sinks, context), context.faults, config.publicUrl),
    ...statusJson(config, known, context.exports),
  });
}
