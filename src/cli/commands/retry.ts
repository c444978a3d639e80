import { type Command, Option } from 'commander';
import type { Ledger } from '../../ledger/contract/ledger.ts';
import type { ActionTotals } from '../../ledger/contract/ledger-control.ts';
import type { ActionFilter, DeliveryFilter } from '../../ledger/contract/ledger-queries.ts';
import type { DeliveryRow } from '../../ledger/contract/status-rows.ts';
import { countOf } from '../../platform/text/human-readable.ts';
import { printable } from '../../platform/text/printable.ts';
import {
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
import { requireName, requireSink, sourceNames } from '../arguments/require-name.ts';
import { defineCommand } from '../shell/command.ts';
import { CommandFailure } from '../shell/command-failure.ts';
import { type ConfirmOptions, canAnswer, confirmAction } from '../shell/confirm.ts';
import {
  commandFormatter,
  ledgerConfigOf,
  type ShowCommand,
  type Surroundings,
  withLedger,
} from '../shell/context.ts';
import { ExitCode } from '../shell/exit-code.ts';
import { ambiguityNote, groupLines, sourcesOf, unmatchedNote } from '../views/action-text.ts';
import { reportWaitingSinks } from '../views/waiting-sinks.ts';

interface Options extends FilterOptions, IdsOption, ConfirmOptions {
  readonly state?: ('dead' | 'pending' | 'discarded')[];
  readonly all?: boolean;
}

/** Maximum number of deliveries that a retry on a terminal makes due without asking. */
const MAX_UNASKED = 100;

/** `leadsync retry`: makes dead, pending or discarded deliveries due now, with a new retry schedule. */
export const command = defineCommand<Options>({
  examples: [
    'leadsync retry --sink crm --state dead',
    'leadsync retry crm:main:42:1:0a1b2c3d',
    'leadsync retry --state dead --since 1d',
    'leadsync retry --sink crm --reason 503 --dry-run',
    'leadsync retry --ids fixed.txt',
    'leadsync retry --all',
  ],
  notes:
    'Without --state it selects both dead and pending deliveries, and discarded ones only by their ids. Deliveries that are being attempted are not changed.\n`leadsync deliveries` shows the ids of deliveries.\nOn a terminal it asks before it makes more than 100 deliveries due. In a script it does not: a retry sends only what has not arrived.',
  declare: declareOptions,
  run: async (options, surroundings, given) => {
    const ids = [...new Set(given)];
    requireChoice(options, ids);
    const config = ledgerConfigOf(options, surroundings);
    return withLedger(config, surroundings, async (ledger) => {
      const status = await ledger.status();
      requireSink(options.sink, config, status);
      requireName('source', options.source, sourceNames(config, status));
      const listed = options.ids === undefined ? undefined : await readIds(options.ids, surroundings.stdin);
      const filter = { ...filterOf(options), states: options.state, ids: listed };
      const command = commandFormatter(options, surroundings);
      const named = { ...filter, ids: { leads: [], deliveries: ids } };
      const totals = await announced(ids.length > 0 ? named : filter, ledger, options, surroundings);
      if (options.dryRun) return ExitCode.done;
      const code =
        ids.length > 0
          ? await retryEach(ids, filter, ledger, surroundings, command)
          : await retryAll(filter, ledger, surroundings, command);
      const sinks = ids.length > 0 ? ids.map((id) => id.replace(/:.*/, '')) : options.sink && [options.sink];
      await reportWaitingSinks(config, ledger, options, surroundings, sinks || undefined);
      return totals?.unmatched.length && ids.length === 0 ? ExitCode.notDone : code;
    });
  },
});

function declareOptions(command: Command, surroundings: Surroundings): void {
  command
    .option('--sink <name>', 'only deliveries to this sink')
    .addOption(
      new Option('--state <state...>', 'only deliveries in one of these states').choices([
        'dead',
        'pending',
        'discarded',
      ]),
    );
  declareFilter(command, surroundings, 'owed');
  declareReason(command);
  declareIds(command);
  command
    .option('--all', 'every dead or pending delivery of every sink')
    .option('--dry-run', 'only say what would be due')
    .option('--yes', 'do not ask');
}

/** Requires either a selection or `--all`, so that omitting an option does not retry everything. @throws CommandFailure */
function requireChoice(options: Options, ids: readonly string[]): void {
  requireOrder(options);
  if (ids.length > 0 && options.ids !== undefined)
    throw new CommandFailure(
      ExitCode.usage,
      'Name deliveries either as arguments or in a list (--ids), not both.',
    );
  const isSelected =
    ids.length > 0 || options.ids !== undefined || options.state !== undefined || hasSelection(options);
  refuseAllWithSelection(options.all, isSelected);
  if (options.all || isSelected) return;
  throw new CommandFailure(
    ExitCode.usage,
    'Select deliveries by id, or with --sink, --state, --source, --lead, --reason, --since, --until or --ids.',
    '--all selects every dead or pending delivery of every sink.',
  );
}

/**
 * Says what the retry would do where that was requested or is not obvious, and asks before a large retry. Returns the counts, or undefined
 * if they were not needed. @throws CommandFailure if the person does not confirm
 */
async function announced(
  filter: ActionFilter,
  ledger: Ledger,
  options: Options,
  surroundings: Surroundings,
): Promise<ActionTotals | undefined> {
  const { stdout, stderr } = surroundings;
  const isByLeadId = options.lead !== undefined || Boolean(filter.ids?.leads.length);
  const isAsked = canAnswer(surroundings) && !options.yes;
  if (!options.dryRun && !options.ids && !isByLeadId && !isAsked) return undefined;
  const totals = await ledger.retriable(filter);
  const notes = [
    (options.ids || options.dryRun) && unmatchedNote(totals, 'no delivery that can be retried'),
    ambiguityNote(isByLeadId, options.source, sourcesOf(totals)),
  ];
  for (const note of notes) if (note) stderr.write(`${note}\n`);
  const what = countOf(totals.deliveries, 'delivery');
  if (options.dryRun)
    stdout.write(`${[`Dry run: ${what} would be due now.`, ...groupLines(totals)].join('\n')}\n`);
  else if (totals.deliveries > MAX_UNASKED)
    await confirmAction(
      { effect: `This makes ${what} due now`, scriptsNeedYes: false },
      options,
      surroundings,
    );
  return totals;
}

async function retryAll(
  filter: ActionFilter,
  ledger: Ledger,
  { stdout, stderr }: Surroundings,
  command: ShowCommand,
): Promise<number> {
  const n = await ledger.retry(filter);
  stdout.write(`${countOf(n, 'delivery')} ${n === 1 ? 'is' : 'are'} due now.\n`);
  if (n > 0) return ExitCode.done;
  // `status` may nevertheless count matching deliveries, so say why none was retried.
  const { ids, ...selected } = filter;
  const states = filter.states ?? ['dead', 'pending'];
  const [left] = ids ? [] : await ledger.deliveries({ ...selected, states }, { limit: 1 });
  if (left) stderr.write(`For example, ${printable(left.delivery)} ${whyLeft(left, command)}\n`);
  return ExitCode.done;
}

/** Makes the deliveries with these ids due now. Reports each delivery that it could not change, with the reason. Returns the exit code. */
async function retryEach(
  ids: readonly string[],
  filter: DeliveryFilter,
  ledger: Ledger,
  { stdout, stderr }: Surroundings,
  command: ShowCommand,
): Promise<number> {
  let left = 0;
  for (const delivery of ids) {
    if ((await ledger.retry({ ...filter, delivery })) === 1) {
      stdout.write(`${printable(delivery)} is due now.\n`);
      continue;
    }
    left += 1;
    const [row] = await ledger.deliveries({ delivery }, { limit: 1 });
    stderr.write(`${printable(delivery)} ${whyLeft(row, command)}\n`);
  }
  return left === 0 ? ExitCode.done : ExitCode.notDone;
}

function whyLeft(row: DeliveryRow | undefined, command: ShowCommand): string {
  switch (row?.state) {
    case undefined:
      return `is not in the ledger; ${command('deliveries')} shows the ids of deliveries.`;
    case 'delivered':
    case 'skipped':
      if (row.discarded)
        return `stays discarded: there is a newer delivery of the same lead, its content was removed, or the other options exclude this one; ${replayOf(row, command)} sends the lead's current content.`;
      return `is ${row.state}; ${replayOf(row, command)} sends the lead again.`;
    case 'dead':
      return `stays dead: there is a newer delivery of the same lead, or the other options exclude this one; ${replayOf(row, command)} sends the lead's current content.`;
    default:
      return 'was not changed: it is being attempted now, or the other options exclude it.';
  }
}

function replayOf({ sink, source, lead }: DeliveryRow, command: ShowCommand): string {
  return command(`replay --sink ${sink} --source ${source} --lead ${lead}`);
}
