import type { LedgerConfig } from '../../config/config.ts';
import { isDataDirHeld } from '../../daemon/open-ledger.ts';
import { askReadiness, type Readiness, staleConfig } from '../ask-daemon.ts';
import { defineCommand } from '../command.ts';
import { commandShown, ledgerConfigOf, widthOf, withLedger } from '../context.ts';
import { ExitCode } from '../exit-code.ts';
import { printJson } from '../printable.ts';
import { statusReport } from '../status-report.ts';
import { statusJson, viewSinks, viewSources } from '../status-view.ts';

/** `leadsync status`: sources, sinks, backlog, dead letters, and what needs attention. */
export const status = defineCommand<{ json?: boolean }>({
  usage: 'status',
  summary: 'sources, sinks, backlog, dead letters, last poll',
  examples: ['leadsync status', "leadsync status --json | jq '.sinks[] | select(.dead > 0)'"],
  declare: (command) => command.option('--json', 'print it as JSON'),
  run: async (options, surroundings) => {
    const config = ledgerConfigOf(options, surroundings);
    const known = await withLedger(config, surroundings, (ledger) => ledger.status());
    const { running, answers, unready } = await askTheHolder(config);
    const stale = running && answers && config.admin ? await staleConfig(config.admin) : undefined;
    const text = options.json
      ? printJson({ running, unready, config_stale: stale ?? null, ...statusJson(config, known) })
      : statusReport(viewSources(config, known), viewSinks(config, known), {
          now: surroundings.clock.now(),
          running,
          answers,
          unready,
          stale,
          queued: config.queue.redisUrl !== undefined,
          command: commandShown(options, surroundings),
          columns: widthOf(surroundings),
        });
    surroundings.stdout.write(text);
    return ExitCode.done;
  },
});

/** Whether a leadsync holds the data directory, and how it is; one that has no address to be asked at counts as well. */
async function askTheHolder({ dataDir, admin }: LedgerConfig): Promise<Readiness & { running: boolean }> {
  const well = { answers: true, unready: [] };
  if (!isDataDirHeld(dataDir)) return { running: false, ...well };
  const readiness = admin ? await askReadiness(admin) : well;
  // One that was stopping gives no answer, and is gone by now.
  return readiness.answers || isDataDirHeld(dataDir)
    ? { running: true, ...readiness }
    : { running: false, ...well };
}
