import type { LedgerConfig } from '../../config/config.ts';
import { ConfigError } from '../../config/config-error.ts';
import { viewExports } from '../../daemon/exporting.ts';
import { viewSinks, viewSources } from '../../daemon/status-view.ts';
import { defineCommand } from '../command.ts';
import {
  commandShown,
  exportStatesOf,
  type GlobalOptions,
  ledgerConfigOf,
  type Surroundings,
  widthOf,
  withLedger,
} from '../context.ts';
import { ExitCode } from '../exit-code.ts';
import { CommandFailure, explainFailure } from '../failure.ts';
import { askTheHolder } from '../holder.ts';
import { printJson } from '../printable.ts';
import { statusReport } from '../status-report.ts';
import { statusJson } from '../status-view.ts';

/** `leadsync status`: sources, sinks, backlog, dead letters, and what needs attention. */
export const status = defineCommand<{ json?: boolean }>({
  usage: 'status',
  summary: 'sources, sinks, backlog, dead letters, last poll',
  examples: ['leadsync status', "leadsync status --json | jq '.sinks[] | select(.dead > 0)'"],
  declare: (command) => command.option('--json', 'print it as JSON'),
  run: async (options, surroundings) => {
    const config = validConfig(options, surroundings);
    const known = await withLedger(config, surroundings, (ledger) => ledger.status());
    const holder = await askTheHolder(config);
    const exports = viewExports(config.exports, exportStatesOf(config));
    const { running, unready, stale } = holder;
    const text = options.json
      ? printJson({ running, unready, config_stale: stale ?? null, ...statusJson(config, known, exports) })
      : statusReport(viewSources(config, known), viewSinks(config, known), {
          now: surroundings.clock.now(),
          ...holder,
          exports,
          queued: config.queue.redisUrl !== undefined,
          command: commandShown(options, surroundings),
          columns: widthOf(surroundings),
        });
    surroundings.stdout.write(text);
    return ExitCode.done;
  },
});

/** A leadsync that runs is none the worse for a file with faults, and whoever has just saved one should hear so. */
function validConfig(options: GlobalOptions, surroundings: Surroundings): LedgerConfig {
  try {
    return ledgerConfigOf(options, surroundings);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const { message, exitCode } = explainFailure(error);
    throw new CommandFailure(exitCode, message, STALE);
  }
}

const STALE =
  'A leadsync that runs keeps to its last valid configuration; its pages and GET /api/v1/overview say how it is.';
