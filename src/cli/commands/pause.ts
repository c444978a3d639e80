import { printMomentAndAge } from '../../platform/text/human-readable.ts';
import { printable } from '../../platform/text/printable.ts';
import { requireSink, sinkNotInLedger } from '../arguments/require-name.ts';
import { defineCommand } from '../shell/command.ts';
import { commandFormatter, ledgerConfigOf, withLedger } from '../shell/context.ts';
import { ExitCode } from '../shell/exit-code.ts';

/** `leadsync pause SINK`: stops deliveries to a sink until the sink is resumed, even across restarts. */
export const command = defineCommand<{ reason: string }>({
  examples: ['leadsync pause crm', 'leadsync pause crm --reason "CRM is being moved until noon"'],
  declare: (command) =>
    command.option('--reason <text>', 'shown by `leadsync status`', 'paused on the command line'),
  run: async (options, surroundings, [sink = '']) => {
    const config = ledgerConfigOf(options, surroundings);
    const before = await withLedger(config, surroundings, async (ledger) => {
      const status = await ledger.status();
      requireSink(sink, config, status);
      if (!(await ledger.pause(sink, options.reason)))
        throw sinkNotInLedger(sink, commandFormatter(options, surroundings));
      return status.sinks.find((known) => known.sink === sink)?.health;
    });
    const since = before?.pausedSince && printMomentAndAge(before.pausedSince, surroundings.clock.now());
    surroundings.stderr.write(
      since
        ? `${sink} was already paused, since ${since}: ${printable(before?.pausedReason ?? '')}\n`
        : `${sink} is paused. Attempts that have started will finish; all other leads wait in the ledger. Resume with ${commandFormatter(options, surroundings)(`resume ${sink}`)}.\n`,
    );
    return ExitCode.done;
  },
});
