import type { Command } from 'commander';
import { countOf } from '../../platform/text/format.ts';
import { defineCommand } from '../shell/command.ts';
import { CommandFailure } from '../shell/command-failure.ts';
import {
  commandFormatter,
  ledgerConfigOf,
  type ShowCommand,
  type Surroundings,
  withLedger,
} from '../shell/context.ts';
import { ExitCode } from '../shell/exit-code.ts';
import {
  declareFilter,
  type FilterOptions,
  filterOf,
  hasSelection,
  refuseAllWithSelection,
  requireOrder,
} from '../shell/filter.ts';
import { requireName, sinkNames, sinkNotInLedger, sourceNames } from '../shell/names.ts';
import { reportWaitingSinks } from '../views/waiting-sinks.ts';

interface Options extends FilterOptions {
  readonly sink: string;
  readonly all?: boolean;
  readonly leftOut?: boolean;
}

/** `leadsync replay`: owes leads to a sink again, as new deliveries. */
export const command = defineCommand<Options>({
  examples: [
    'leadsync replay --sink crm --since 2026-11-19 --until 2026-11-20',
    'leadsync replay --sink crm --lead 42',
    'leadsync replay --sink crm --left-out --since 7d',
    'leadsync replay --sink warehouse --all',
  ],
  notes:
    'Sends the current content of each lead, whether it was delivered before or not, as a new delivery with its own id, marked as a replay.\n--since and --until select leads that were first seen or last changed in that time. They restore what a destination lost in that time, for example after a restore from a backup.\n--left-out sends nothing that the sink already has, so these deliveries are not marked as replays. After a change of `where`, run it once no delivery from before the change is pending; repeating it is harmless.\nTo retry failed deliveries, use `leadsync retry`.',
  declare: declareOptions,
  run: async (options, surroundings) => {
    requireChoice(options);
    const config = ledgerConfigOf(options, surroundings);
    return withLedger(config, surroundings, async (ledger) => {
      const status = await ledger.status();
      requireName('sink', options.sink, sinkNames(config, status));
      requireName('source', options.source, sourceNames(config, status));
      if (!status.sinks.some(({ sink }) => sink === options.sink))
        throw sinkNotInLedger(options.sink, commandFormatter(options, surroundings));
      const { sink: _, ...leads } = filterOf(options);
      const n = await ledger.replay(options.sink, { ...leads, leftOut: options.leftOut });
      surroundings.stdout.write(`${describeOwed(n, options)}\n`);
      if (n === 0) surroundings.stderr.write(nothingFound(options, commandFormatter(options, surroundings)));
      await reportWaitingSinks(config, ledger, options, surroundings, [options.sink]);
      // A missing lead with a given id is a failure; an empty time range is not.
      return n === 0 && options.lead !== undefined ? ExitCode.notDone : ExitCode.done;
    });
  },
});

function describeOwed(n: number, { sink, leftOut }: Options): string {
  const owed = `${countOf(n, 'lead')} ${n === 1 ? 'is' : 'are'} owed to ${sink} again`;
  if (!leftOut || n === 0) return `${owed}.`;
  return `${owed}. The present \`where\` decides at delivery whether ${sink} gets ${n === 1 ? 'it' : 'them'}.`;
}

const NO_CONTENT = 'Leads that were erased, or whose content `retention` removed, cannot be sent again.';

function nothingFound({ lead, leftOut, sink }: Options, command: ShowCommand): string {
  if (leftOut && lead === undefined)
    return `No matching lead was left out by \`where\` of ${sink} at its last delivery and is still missing there. ${NO_CONTENT} ${command(`deliveries --sink ${sink} --state skipped`)} lists what was not sent, with the reasons.\n`;
  if (leftOut)
    return `Lead ${lead} was not left out by \`where\` of ${sink} at its last delivery, or ${sink} already has it. ${command(`trace ${lead}`)} shows what became of it. ${NO_CONTENT}\n`;
  if (lead !== undefined)
    return `${command(`trace ${lead}`)} shows whether a listing contained it, and why it was rejected if it was. ${NO_CONTENT}\n`;
  return `No lead in the ledger matches. ${NO_CONTENT} --since and --until refer to when a lead was first seen or last changed; ${command('deliveries')} lists deliveries.\n`;
}

function declareOptions(command: Command, surroundings: Surroundings): void {
  command.requiredOption('--sink <name>', 'the sink to deliver to');
  declareFilter(command, surroundings, 'first seen or last changed');
  command
    .option('--left-out', 'only leads that the sink does not have because its `where` left them out')
    .option('--all', 'every lead in the ledger');
}

/** Requires either a selection or `--all`, so that omitting an option does not send everything again. @throws CommandFailure */
function requireChoice(options: Options): void {
  requireOrder(options);
  const { sink: _, ...leads } = filterOf(options);
  const isSelected = options.leftOut === true || hasSelection(leads);
  refuseAllWithSelection(options.all, isSelected);
  if (options.all || isSelected) return;
  throw new CommandFailure(
    ExitCode.usage,
    'Select leads with --lead, --source, --since, --until or --left-out.',
    `--all sends every lead in the ledger to the sink again.`,
  );
}
