import { Option } from 'commander';
import { filesOf } from '../../config/contract/config.ts';
import { formatFault } from '../../config/contract/config-error.ts';
import { diskSpace } from '../../operations/disk-space.ts';
import { printJson } from '../../platform/text/printable.ts';
import { viewExports } from '../../status/export-view.ts';
import { findProblems } from '../../status/find-problems.ts';
import { statusJson, verdictJson } from '../../status/status-json.ts';
import { viewSinks, viewSources } from '../../status/status-view.ts';
import { askRunningDaemon } from '../running/running-daemon.ts';
import { paintFor } from '../shell/colour.ts';
import { defineCommand } from '../shell/command.ts';
import { CommandFailure } from '../shell/command-failure.ts';
import {
  commandFormatter,
  exportStatesOf,
  type GlobalOptions,
  lenientConfigOf,
  type Surroundings,
  widthOf,
  withLedger,
} from '../shell/context.ts';
import { ExitCode } from '../shell/exit-code.ts';
import { explainFailure } from '../shell/failure.ts';
import { checkReport, unknownReport } from '../views/check-report.ts';
import { type ReportContext, statusReport } from '../views/status-report.ts';

type Options = { json?: boolean; check?: boolean };

/** `leadsync status`: shows sources, sinks, backlog, dead letters and problems. */
export const command = defineCommand<Options>({
  examples: [
    'leadsync status',
    'leadsync status --check',
    "leadsync status --json | jq '.sinks[] | select(.dead > 0)'",
  ],
  notes: `If the configuration has faults, the status shows everything that can be read, followed by each fault. The exit code is then 78.
--check is for monitors such as Nagios, Icinga, Sensu or Consul. Its first line is the state, and its exit code is 0 if nothing needs attention, 1 for warnings, 2 for a critical problem, and 3 if the state cannot be read.`,
  declare: (command) =>
    command
      .option('--json', 'print the status as JSON')
      .addOption(
        new Option('--check', 'print the problems only; exit 0, 1, 2 or 3 by the worst').conflicts('json'),
      ),
  run: async (options, surroundings) => {
    if (options.check) return check(options, surroundings);
    const read = await readStatus(options, surroundings);
    surroundings.stdout.write(
      options.json ? jsonOf(read) : statusReport(read.sources, read.sinks, read.context),
    );
    return read.context.faults.length === 0 ? ExitCode.done : ExitCode.configuration;
  },
});

/** Prints the state for a monitor and returns its exit code, also if the ledger or the configuration cannot be read. */
async function check(options: Options & GlobalOptions, surroundings: Surroundings): Promise<number> {
  const report = await readStatus(options, surroundings).then(
    ({ sources, sinks, context }) => checkReport(findProblems(sources, sinks, context), context.faults),
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
    // A fault may hide the path of the ledger. So report the faults before this error, which may only follow from them.
    throw faults.length === 0
      ? error
      : new CommandFailure(ExitCode.configuration, faults.join('\n'), explainFailure(error).message);
  });
  const holder = await askRunningDaemon(config);
  const { stale } = holder;
  const context: ReportContext & { readonly faults: readonly string[] } = {
    now: surroundings.clock.now(),
    ...holder,
    // The report shows the current faults of the file once, at its end.
    stale: stale && faults.length > 0 ? { ...stale, faults: [] } : stale,
    exports: viewExports(filesOf(config), exportStatesOf(config)),
    disk: await diskSpace(config),
    restoredAt: known.restoredAt,
    queued: config.queue.redisUrl !== undefined,
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
    running: context.running,
    unready: context.unready,
    config_stale: stale ?? null,
    ...verdictJson(findProblems(sources, sinks, context), context.faults),
    ...statusJson(config, known, context.exports),
  });
}
