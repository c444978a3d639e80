import type { Command } from 'commander';
import type { ActionFilter } from '../../ledger/contract/ledger-queries.ts';
import { countOf } from '../../platform/text/human-readable.ts';
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
import { type ConfirmOptions, confirmAction } from '../shell/confirm.ts';
import { commandFormatter, ledgerConfigOf, type Surroundings, withLedger } from '../shell/context.ts';
import { ExitCode } from '../shell/exit-code.ts';
import { personOf } from '../shell/record-action.ts';
import { ambiguityNote, groupLines, sourcesOf, unmatchedNote } from '../views/action-text.ts';

interface Options extends FilterOptions, IdsOption, ConfirmOptions {
  readonly note?: string;
  readonly all?: boolean;
}

/** Maximum number of deliveries that the command discards without confirmation. */
const MAX_UNASKED = 100;
const MAX_NOTE = 200;

/** `leadsync discard`: gives dead deliveries up, with a note. */
export const command = defineCommand<Options>({
  examples: [
    'leadsync discard --sink crm --reason 422 --note "numbers that do not exist"',
    'leadsync discard crm:main:42:1:0a1b2c3d --note "called by phone"',
    'leadsync discard --ids given-up.txt --dry-run',
  ],
  notes:
    'The deliveries become skipped and no longer count as dead in status, alerts and metrics. The note, its author and the reason for the failure become their reason, which `leadsync deliveries`, `leadsync trace` and the pages show. Write no personal data in it: retention does not remove the note, only an erasure of the lead does.\nThe ledger no longer keeps the content of their leads beyond `retention`. A later version of such a lead is delivered as usual.\n`leadsync retry DELIVERY` or `leadsync retry --state discarded` makes them due again.\nFor more than 100 deliveries it asks on a terminal, and needs --yes elsewhere.',
  declare: declareOptions,
  run: async (options, surroundings, given) => {
    requireChoice(options, given);
    const note = noteOf(options);
    const config = ledgerConfigOf(options, surroundings);
    const filter = await selectionOf(options, given, surroundings);
    return withLedger(config, surroundings, async (ledger) => {
      const status = await ledger.status();
      requireSink(options.sink, config, status);
      requireName('source', options.source, sourceNames(config, status));
      const { stdout, stderr } = surroundings;
      const totals = await ledger.discardable(filter);
      const notes = [
        unmatchedNote(totals, 'no dead delivery'),
        ambiguityNote(
          options.lead !== undefined || Boolean(filter.ids?.leads.length),
          options.source,
          sourcesOf(totals),
        ),
      ];
      for (const line of notes) if (line) stderr.write(`${line}\n`);
      const what = countOf(totals.deliveries, 'dead delivery');
      if (options.dryRun) {
        stdout.write(`${[`Dry run: ${what} would be discarded.`, ...groupLines(totals)].join('\n')}\n`);
        return ExitCode.done;
      }
      if (totals.deliveries > MAX_UNASKED)
        await confirmAction({ effect: `This discards ${what}`, scriptsNeedYes: true }, options, surroundings);
      const n = await ledger.discard(filter, { by: personOf(surroundings), note });
      stdout.write(`${countOf(n, 'delivery')} ${n === 1 ? 'is' : 'are'} discarded.\n`);
      if (n > 0)
        stderr.write(
          `${commandFormatter(options, surroundings)('retry --state discarded')}, or with the id of a delivery, makes them due again.\n`,
        );
      return totals.unmatched.length > 0 ? ExitCode.notDone : ExitCode.done;
    });
  },
});

function declareOptions(command: Command, surroundings: Surroundings): void {
  command
    .option(
      '--note <text>',
      `why the deliveries are given up: at most ${MAX_NOTE} characters, without personal data`,
    )
    .option('--sink <name>', 'only deliveries to this sink');
  declareFilter(command, surroundings, 'owed');
  declareReason(command);
  declareIds(command);
  command
    .option('--all', 'every dead delivery of every sink')
    .option('--dry-run', 'only say what would be discarded')
    .option('--yes', 'do not ask');
}

/** Requires either a selection or `--all`, so that omitting an option does not discard everything. @throws CommandFailure */
function requireChoice(options: Options, given: readonly string[]): void {
  requireOrder(options);
  const isSelected = given.length > 0 || options.ids !== undefined || hasSelection(options);
  refuseAllWithSelection(options.all, isSelected);
  if (options.all || isSelected) return;
  throw new CommandFailure(
    ExitCode.usage,
    'Select dead deliveries by id, or with --sink, --source, --lead, --reason, --since, --until or --ids.',
    '--all selects every dead delivery of every sink.',
  );
}

/** Returns the note; empty if a dry run has none. @throws CommandFailure if the note is missing, empty or too long */
function noteOf({ note, dryRun }: Options): string {
  if (note === undefined && dryRun) return '';
  if (note === undefined)
    throw new CommandFailure(ExitCode.usage, 'Say with --note TEXT why the deliveries are given up.');
  const text = note.trim();
  if (text !== '' && text.length <= MAX_NOTE) return text;
  throw new CommandFailure(ExitCode.usage, `--note needs 1 to ${MAX_NOTE} characters.`);
}

async function selectionOf(
  options: Options,
  given: readonly string[],
  { stdin }: Surroundings,
): Promise<ActionFilter> {
  if (options.ids === undefined && given.length === 0) return filterOf(options);
  const listed = options.ids === undefined ? undefined : await readIds(options.ids, stdin);
  const deliveries = [...new Set([...given, ...(listed?.deliveries ?? [])])];
  return { ...filterOf(options), ids: { leads: listed?.leads ?? [], deliveries } };
}
