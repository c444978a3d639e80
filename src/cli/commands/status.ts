import { viewSinks, viewSources } from '../../daemon/status-view.ts';
import { defineCommand } from '../command.ts';
import { commandShown, ledgerConfigOf, widthOf, withLedger } from '../context.ts';
import { ExitCode } from '../exit-code.ts';
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
    const config = ledgerConfigOf(options, surroundings);
    const known = await withLedger(config, surroundings, (ledger) => ledger.status());
    const holder = await askTheHolder(config);
    const { running, unready, stale } = holder;
    const text = options.json
      ? printJson({ running, unready, config_stale: stale ?? null, ...statusJson(config, known) })
      : statusReport(viewSources(config, known), viewSinks(config, known), {
          now: surroundings.clock.now(),
          ...holder,
          queued: config.queue.redisUrl !== undefined,
          command: commandShown(options, surroundings),
          columns: widthOf(surroundings),
        });
    surroundings.stdout.write(text);
    return ExitCode.done;
  },
});
