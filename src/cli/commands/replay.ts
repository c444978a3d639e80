import { type Command, Option } from 'commander';
import type { LeadChoice, ReplayTotals } from '../../ledger/contract/ledger-control.ts';
import type { SelectedState } from '../../ledger/contract/ledger-queries.ts';
import { countOf } from '../../platform/text/human-readable.ts';
import { printable } from '../../platform/text/printable.ts';
import {
  declareDelivered,
  declareFilter,
  declareIds,
  declareReason,
  type FilterOptions,
  filterOf,
  hasSelection,
  type IdsOption,
  refuseAllWithSelection,
  requireOrder,
} from '../arguments/filter.ts';
import { readIds } from '../arguments/ids.ts';
import { requireName, requireSink, sinkNotInLedger, sourceNames } from '../arguments/require-name.ts';
import { defineCommand } from '../shell/command.ts';
import { CommandFailure } from '../shell/command-failure.ts';
import { type ConfirmOptions, confirmAction } from '../shell/confirm.ts';
import {
  commandFormatter,
  ledgerConfigOf,
  type ShowCommand,
  type Surroundings,
  withLedger,
} from '../shell/context.ts';
import { ExitCode } from '../shell/exit-code.ts';
import { ambiguityNote, unmatchedNote } from '../views/action-text.ts';
import { reportWaitingSinks } from '../views/waiting-sinks.ts';

interface Options extends FilterOptions, IdsOption, ConfirmOptions {
  readonly sink: string;
  readonly state?: SelectedState[];
  readonly all?: boolean;
  readonly leftOut?: boolean;
}

const STATES = ['pending', 'delivered', 'dead', 'skipped', 'discarded'] as const;

/** `leadsync replay`: owes leads to a sink again, as new deliveries. */
export const command = defineCommand<Options>({
  examples: [
    'leadsync replay --sink crm --since 2026-11-19 --until 2026-11-20',
    'leadsync replay --sink crm --lead 42',
    'leadsync replay --sink crm --delivered-since 2026-11-20T17:49 --delivered-until 2026-11-20T17:52 --dry-run',
    'leadsync replay --sink crm --ids lost.txt --yes',
    'leadsync replay --sink crm --left-out --since 7d',
    'leadsync replay --sink warehouse --all',
  ],
  notes:
    'Sends the current content of each lead, whether it was delivered before or not, as a new delivery with its own id, marked as a replay.\n--since and --until select leads that were first seen or last changed in that time. Use them to restore what a destination lost in that time, for example after a restore from a backup. --delivered-since and --delivered-until select leads that the sink got in that time. --state and --reason select leads with such a delivery to the sink, and --ids selects the leads in a list.\nFor more than one lead it asks on a terminal, and needs --yes elsewhere, except with --left-out. `leadsync cancel-replay SINK` cancels what is still pending.\n--left-out sends nothing that the sink already has, so these deliveries are not marked as replays. After a change of `where`, wait until no delivery from before the change is pending, then run it; repeating it is harmless.\nTo retry failed deliveries, use `leadsync retry`.',
  declare: declareOptions,
  run: async (options, surroundings) => {
    requireChoice(options);
    const config = ledgerConfigOf(options, surroundings);
    return withLedger(config, surroundings, async (ledger) => {
      const status = await ledger.status();
      requireSink(options.sink, config, status);
      requireName('source', options.source, sourceNames(config, status));
      if (!status.sinks.some(({ sink }) => sink === options.sink))
        throw sinkNotInLedger(options.sink, commandFormatter(options, surroundings));
      const choice = await choiceOf(options, surroundings);
      const totals = await ledger.replayable(options.sink, choice);
      for (const line of notesOf(totals, options, choice)) surroundings.stderr.write(`${line}\n`);
      const explainNone = () =>
        surroundings.stderr.write(nothingFound(options, commandFormatter(options, surroundings)));
      if (options.dryRun) {
        surroundings.stdout.write(
          `Dry run: ${effectOf(totals, options).replace('This sends', 'this would send')}.\n`,
        );
        if (totals.leads === 0) explainNone();
        return ExitCode.done;
      }
      const effect = effectOf(totals, options);
      if (totals.leads > 1)
        await confirmAction({ effect, scriptsNeedYes: !options.leftOut }, options, surroundings);
      const n = await ledger.replay(options.sink, choice);
      surroundings.stdout.write(`${describeOwed(n, options)}\n`);
      if (n === 0) explainNone();
      if (n > 1)
        surroundings.stderr.write(
          `${commandFormatter(options, surroundings)(`cancel-replay ${options.sink}`)} cancels what is still pending.\n`,
        );
      await reportWaitingSinks(config, ledger, options, surroundings, [options.sink]);
      // A missing lead with a given id is a failure; an empty time range is not.
      const isMissing = (n === 0 && options.lead !== undefined) || totals.unmatched.length > 0;
      return isMissing ? ExitCode.notDone : ExitCode.done;
    });
  },
});

async function choiceOf(options: Options, { stdin }: Surroundings): Promise<LeadChoice> {
  const { sink: _, ...leads } = filterOf(options);
  const ids = options.ids === undefined ? undefined : await readIds(options.ids, stdin);
  return { ...leads, leftOut: options.leftOut, states: options.state, ids };
}

function notesOf(totals: ReplayTotals, { lead, source, sink }: Options, { ids }: LeadChoice): string[] {
  const isByLeadId = lead !== undefined || Boolean(ids?.leads.length);
  const unmatched =
    lead === undefined
      ? unmatchedNote(totals, `no lead, or a delivery to a sink other than ${sink}`)
      : undefined;
  return [unmatched, ambiguityNote(isByLeadId, source, totals.sources)].filter((note) => note !== undefined);
}

function effectOf({ leads }: ReplayTotals, { sink }: Options): string {
  return `This sends ${countOf(leads, 'lead')} to ${printable(sink)} again`;
}

function describeOwed(n: number, { sink, leftOut }: Options): string {
  const owed = `${countOf(n, 'lead')} ${n === 1 ? 'is' : 'are'} owed to ${sink} again`;
  if (!leftOut || n === 0) return `${owed}.`;
  return `${owed}. The present \`where\` decides at delivery whether ${sink} gets ${n === 1 ? 'it' : 'them'}.`;
}

const NO_CONTENT = 'Leads that were erased, or whose content `retention` removed, cannot be sent again.';

function nothingFound(options: Options, command: ShowCommand): string {
  const { lead, leftOut, sink } = options;
  if (leftOut && lead === undefined)
    return `The \`where\` of ${sink} left out no matching lead at the lead's last delivery, or ${sink} already has the lead. ${NO_CONTENT} ${command(`deliveries --sink ${sink} --state skipped`)} lists what was not sent, with the reasons.\n`;
  if (leftOut)
    return `The \`where\` of ${sink} did not leave out lead ${lead} at the lead's last delivery, or ${sink} already has it. ${command(`trace ${lead}`)} shows what happened to it. ${NO_CONTENT}\n`;
  if (lead !== undefined)
    return `${command(`trace ${lead}`)} shows whether a listing contained it, and why it was rejected if it was. ${NO_CONTENT}\n`;
  if (options.reason ?? options.deliveredSince ?? options.deliveredUntil ?? options.state)
    return `No lead has a matching delivery to ${sink}. ${NO_CONTENT} ${command(`deliveries --sink ${sink}`)} lists deliveries, with their times and reasons.\n`;
  return `No lead in the ledger matches. ${NO_CONTENT} --since and --until refer to when a lead was first seen or last changed; ${command('deliveries')} lists deliveries.\n`;
}

function declareOptions(command: Command, surroundings: Surroundings): void {
  command.requiredOption('--sink <name>', 'the sink to deliver to');
  declareFilter(command, surroundings, 'first seen or last changed');
  declareDelivered(command, surroundings);
  declareReason(command);
  command.addOption(
    new Option('--state <state...>', 'only leads with a delivery to the sink in one of these states').choices(
      STATES,
    ),
  );
  declareIds(command);
  command
    .option('--left-out', 'only leads that the sink does not have because its `where` left them out')
    .option('--all', 'every lead in the ledger')
    .option('--dry-run', 'only say how many leads would be sent again')
    .option('--yes', 'do not ask');
}

/** Requires either a selection or `--all`, so that omitting an option does not send everything again. @throws CommandFailure */
function requireChoice(options: Options): void {
  requireOrder(options);
  const { sink: _, ...leads } = filterOf(options);
  const isSelected =
    options.leftOut === true ||
    options.state !== undefined ||
    options.ids !== undefined ||
    hasSelection(leads);
  refuseAllWithSelection(options.all, isSelected);
  if (options.all || isSelected) return;
  throw new CommandFailure(
    ExitCode.usage,
    'Select leads with --lead, --source, --since, --until, --delivered-since, --delivered-until, --state, --reason, --ids or --left-out.',
    `--all sends every lead in the ledger to the sink again.`,
  );
}
