import { formatFault } from '../../config/contract/config-error.ts';
import { printJson } from '../../platform/text/printable.ts';
import { viewExports } from '../../status/export-view.ts';
import { statusJson } from '../../status/json.ts';
import { viewSinks, viewSources } from '../../status/status-view.ts';
import { askRunningDaemon } from '../running/running-daemon.ts';
import { defineCommand } from '../shell/command.ts';
import { CommandFailure } from '../shell/command-failure.ts';
import { commandFormatter, exportStatesOf, lenientConfigOf, widthOf, withLedger } from '../shell/context.ts';
import { ExitCode } from '../shell/exit-code.ts';
import { explainFailure } from '../shell/failure.ts';
import { statusReport } from '../views/status-report.ts';

/** `leadsync status`: shows sources, sinks, backlog, dead letters and problems. */
export const command = defineCommand<{ json?: boolean }>({
  examples: ['leadsync status', "leadsync status --json | jq '.sinks[] | select(.dead > 0)'"],
  notes:
    'If the configuration has faults, the status shows everything that can be read, followed by each fault. The exit code is then 78.',
  declare: (command) => command.option('--json', 'print the status as JSON'),
  run: async (options, surroundings) => {
    const config = lenientConfigOf(options, surroundings);
    const faults = (config.faults ?? []).map(formatFault);
    const known = await withLedger(config, surroundings, (ledger) => ledger.status()).catch((error) => {
      // A fault may hide the path of the ledger. So report the faults before this error, which may only follow from them.
      throw faults.length === 0
        ? error
        : new CommandFailure(ExitCode.configuration, faults.join('\n'), explainFailure(error).message);
    });
    const holder = await askRunningDaemon(config);
    const exports = viewExports(config.exports, exportStatesOf(config));
    const { running, unready, stale } = holder;
    const text = options.json
      ? printJson({
          running,
          unready,
          config_stale: stale ?? null,
          config_faults: faults,
          ...statusJson(config, known, exports),
        })
      : statusReport(viewSources(config, known), viewSinks(config, known), {
          now: surroundings.clock.now(),
          ...holder,
          // The report shows the current faults of the file once, at its end.
          stale: stale && faults.length > 0 ? { ...stale, faults: [] } : stale,
          exports,
          restoredAt: known.restoredAt,
          queued: config.queue.redisUrl !== undefined,
          command: commandFormatter(options, surroundings),
          columns: widthOf(surroundings),
          faults,
        });
    surroundings.stdout.write(text);
    return faults.length === 0 ? ExitCode.done : ExitCode.configuration;
  },
});
