import { requireSink, sinkNotInLedger } from '../arguments/require-name.ts';
import { defineCommand } from '../shell/command.ts';
import { commandFormatter, ledgerConfigOf, withLedger } from '../shell/context.ts';
import { ExitCode } from '../shell/exit-code.ts';
import { cancellationText } from '../views/action-text.ts';

/** `leadsync cancel-replay SINK`: skips the pending deliveries of a sink's replays. */
export const command = defineCommand<{ dryRun?: boolean }>({
  examples: ['leadsync cancel-replay crm', 'leadsync cancel-replay crm --dry-run'],
  notes:
    'Skips the deliveries that replays owe to the sink and that are still pending. New and changed leads are not affected. What was sent stays sent, and attempts that have begun are not interrupted: if they fail, run the command again. The command does not ask for confirmation, because `leadsync replay` can owe the leads again.\nA delivery of a replay stays if the sink would otherwise miss a version of the lead that it was owed before: if the replay replaced a delivery that was waiting for a retry, or the lead changed in the meantime.\n`leadsync status` shows how many deliveries of replays are left.',
  declare: (command) => command.option('--dry-run', 'only say what would be cancelled'),
  run: async (options, surroundings, [sink = '']) => {
    const config = ledgerConfigOf(options, surroundings);
    return withLedger(config, surroundings, async (ledger) => {
      requireSink(sink, config, await ledger.status());
      const result = await (options.dryRun ? ledger.cancellable(sink) : ledger.cancelReplays(sink));
      if (result === undefined) throw sinkNotInLedger(sink, commandFormatter(options, surroundings));
      surroundings.stdout.write(`${cancellationText(result, sink, !options.dryRun)}\n`);
      return ExitCode.done;
    });
  },
});
