import { type Command, Option } from 'commander';
import type { Ledger } from '../../ledger/contract/ledger.ts';
import type { DeliveryFilter } from '../../ledger/contract/ledger-queries.ts';
import type { DeliveryRow } from '../../ledger/contract/status-rows.ts';
import { countOf } from '../../platform/text/format.ts';
import { printable } from '../../platform/text/printable.ts';
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
import { requireName, sinkNames, sourceNames } from '../shell/names.ts';
import { reportWaitingSinks } from '../views/waiting-sinks.ts';

interface Options extends FilterOptions {
  readonly state?: ('dead' | 'pending')[];
  readonly all?: boolean;
}

/** `leadsync retry`: makes dead or pending deliveries due now, with a new retry schedule. */
export const command = defineCommand<Options>({
  examples: [
    'leadsync retry --sink crm --state dead',
    'leadsync retry crm:main:42:1:0a1b2c3d',
    'leadsync retry --state dead --since 1d',
    'leadsync retry --all',
  ],
  notes:
    'Without --state it selects both dead and pending deliveries. Deliveries that are being attempted are not changed.\n`leadsync deliveries` shows the ids of deliveries.',
  declare: declareOptions,
  run: async (options, surroundings, given) => {
    const ids = [...new Set(given)];
    requireChoice(options, ids);
    const config = ledgerConfigOf(options, surroundings);
    return withLedger(config, surroundings, async (ledger) => {
      const status = await ledger.status();
      requireName('sink', options.sink, sinkNames(config, status));
      requireName('source', options.source, sourceNames(config, status));
      const filter = { ...filterOf(options), states: options.state };
      const code =
        ids.length > 0
          ? await retryEach(ids, filter, ledger, surroundings, commandFormatter(options, surroundings))
          : await retryAll(filter, ledger, surroundings, commandFormatter(options, surroundings));
      const sinks = ids.length > 0 ? ids.map((id) => id.replace(/:.*/, '')) : options.sink && [options.sink];
      await reportWaitingSinks(config, ledger, options, surroundings, sinks || undefined);
      return code;
    });
  },
});

function declareOptions(command: Command, surroundings: Surroundings): void {
  command
    .option('--sink <name>', 'only deliveries to this sink')
    .addOption(
      new Option('--state <state...>', 'only deliveries in one of these states').choices(['dead', 'pending']),
    );
  declareFilter(command, surroundings, 'owed');
  command.option('--all', 'every dead or pending delivery of every sink');
}

/** Requires either a selection or `--all`, so that omitting an option does not retry everything. @throws CommandFailure */
function requireChoice(options: Options, ids: readonly string[]): void {
  requireOrder(options);
  refuseAllWithSelection(options.all, ids.length > 0 || options.state !== undefined || hasSelection(options));
  if (options.all || ids.length > 0 || options.state || hasSelection(options)) return;
  throw new CommandFailure(
    ExitCode.usage,
    'Select deliveries by id, or with --sink, --state, --source, --lead, --since or --until.',
    '--all selects every dead or pending delivery of every sink.',
  );
}

async function retryAll(
  filter: DeliveryFilter,
  ledger: Ledger,
  { stdout, stderr }: Surroundings,
  command: ShowCommand,
): Promise<number> {
  const n = await ledger.retry(filter);
  stdout.write(`${countOf(n, 'delivery')} ${n === 1 ? 'is' : 'are'} due now.\n`);
  if (n > 0) return ExitCode.done;
  // `status` may nevertheless count matching deliveries, so say why none was retried.
  const [left] = await ledger.deliveries(
    { ...filter, states: filter.states ?? ['dead', 'pending'] },
    { limit: 1 },
  );
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
