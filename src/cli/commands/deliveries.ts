import { type Command, Option } from 'commander';
import { DELIVERY_COLUMNS } from '../../admin/contract/deliveries.ts';
import { WAIT_REASONS } from '../../leads/sink-health.ts';
import type { LedgerQueries, SelectedState } from '../../ledger/contract/ledger-queries.ts';
import type { FailureReasons } from '../../ledger/contract/sink-activity.ts';
import type { DeliveryRow } from '../../ledger/contract/status-rows.ts';
import { printMomentAndAge, printSpan } from '../../platform/text/human-readable.ts';
import { printable, printJson } from '../../platform/text/printable.ts';
import { batchNotFound } from '../../status/batch-search.ts';
import { type BatchWait, batchWaits } from '../../status/batch-wait.ts';
import { deliveryJson } from '../../status/record-json.ts';
import { failureReasonsJson } from '../../status/sink-detail.ts';
import { allSinks, type SinkState, type SinkView } from '../../status/status-view.ts';
import {
  declareDelivered,
  declareFilter,
  declareReason,
  declareWebhookId,
  type FilterOptions,
  filterOf,
  hasSelection,
  readLimit,
  requireOrder,
} from '../arguments/filter.ts';
import { requireName, requireSink, sourceNames } from '../arguments/require-name.ts';
import { paintFor } from '../shell/colour.ts';
import { defineCommand } from '../shell/command.ts';
import { CommandFailure } from '../shell/command-failure.ts';
import {
  commandFormatter,
  type GlobalOptions,
  readableConfigOf,
  type ShowCommand,
  type Surroundings,
  widthOf,
  withLedger,
} from '../shell/context.ts';
import { ExitCode } from '../shell/exit-code.ts';
import { table } from '../shell/table.ts';
import { csvOf, csvOption } from '../views/csv.ts';
import { recordPhrase } from '../views/destination-record.ts';
import { notCounted, reasonTable } from '../views/failure-reasons.ts';

interface Options extends FilterOptions {
  readonly state?: SelectedState[];
  readonly limit: number;
  readonly before?: string;
  readonly reasons?: boolean;
  readonly json?: boolean;
  readonly csv?: boolean;
}

const STATES = ['pending', 'delivered', 'dead', 'skipped', 'discarded'] as const;

/** `leadsync deliveries`: lists deliveries, newest first, with the reason for each dead one. */
export const command = defineCommand<Options>({
  examples: [
    'leadsync deliveries --state dead',
    'leadsync deliveries --sink crm --state pending dead --since 2h',
    'leadsync deliveries --lead 42 --json',
    'leadsync deliveries --reasons',
    'leadsync deliveries --state dead --csv --limit 10000 > dead.csv',
  ],
  notes:
    'HTTP and TOOK are the status and the duration of the last attempt. The id of a delivery is sink:source:lead:version:hash; `leadsync retry` takes this id.',
  declare: declareOptions,
  run: async (options, surroundings) => {
    requireOrder(options);
    const config = readableConfigOf(options, surroundings);
    const { state: states, limit, before } = options;
    if (options.reasons) {
      refuseSelection(options);
      showReasons(
        await withLedger(config, surroundings, (ledger) => ledger.failureReasons()),
        options,
        surroundings,
      );
      return ExitCode.done;
    }
    const found = await withLedger(config, surroundings, async (ledger) => {
      const status = await ledger.status();
      requireSink(options.sink, config, status);
      requireName('source', options.source, sourceNames(config, status));
      if (before !== undefined) await requireDelivery(before, ledger);
      const all = await ledger.deliveries({ ...filterOf(options), states }, { limit: limit + 1, before });
      const rows = all.slice(0, limit);
      const waits = { sinks: config.sinks, now: surroundings.clock.now(), countDue: ledger.countDue };
      return {
        rows,
        more: all.length > limit,
        sinks: allSinks(config, status),
        batchWait: await batchWaits(rows, waits),
        unknownBatch: rows.length === 0 ? await unknownBatch(options.webhookId, ledger) : undefined,
      };
    });
    show(found, options, surroundings);
    return ExitCode.done;
  },
});

async function requireDelivery(delivery: string, ledger: LedgerQueries): Promise<void> {
  if ((await ledger.deliveries({ delivery }, { limit: 1 })).length > 0) return;
  throw new CommandFailure(
    ExitCode.usage,
    `There is no delivery "${printable(delivery)}" to continue after.`,
    '--before takes a complete id from the DELIVERY column, such as crm:main:42:1:0a1b2c3d.',
  );
}

/** Returns why no delivery was sent under a webhook-id, if it is that of a batch; undefined if one was, so that another option excludes it. */
async function unknownBatch(webhookId: string | undefined, ledger: LedgerQueries) {
  const unknown = batchNotFound(webhookId);
  if (unknown === undefined) return undefined;
  const found = await ledger.deliveries({ webhookId }, { limit: 1 });
  return found.length > 0 ? undefined : `${unknown.message} ${unknown.hint}`;
}

function declareOptions(command: Command, surroundings: Surroundings): void {
  command
    .option('--sink <name>', 'only deliveries to this sink')
    .addOption(new Option('--state <state...>', 'only deliveries in one of these states').choices(STATES));
  declareFilter(command, surroundings, 'owed');
  declareDelivered(command, surroundings);
  declareReason(command);
  declareWebhookId(command);
  command
    .option('--limit <n>', 'maximum number of deliveries, newest first', readLimit, 50)
    .option(
      '--before <delivery>',
      'only deliveries older than this one, usually the last one of the previous list',
    )
    .option('--reasons', 'count the dead and the failed deliveries of all sinks by reason instead')
    .option('--json', 'print the deliveries or the reasons as JSON')
    .addOption(csvOption('deliveries').conflicts(['json', 'reasons']));
}

/** Refuses `--reasons` together with a selection. @throws CommandFailure */
function refuseSelection(options: Options): void {
  if (!hasSelection(options) && options.state === undefined && options.before === undefined) return;
  throw new CommandFailure(
    ExitCode.usage,
    '--reasons counts the deliveries of all sinks, but other options of this command narrow the selection.',
    'Remove them. `leadsync status SINK` shows the reasons of one sink.',
  );
}

function showReasons(found: FailureReasons, { json }: Options, surroundings: Surroundings): void {
  const { stdout, stderr } = surroundings;
  if (json) stdout.write(printJson(failureReasonsJson(found)));
  else if (found.reasons.length === 0) stderr.write('No delivery is dead or has failed.\n');
  else {
    stdout.write(reasonTable(found, widthOf(surroundings)));
    stderr.write(notCounted(found));
  }
}

interface Found {
  readonly rows: readonly DeliveryRow[];
  /** Whether there are older deliveries that match. */
  readonly more: boolean;
  readonly sinks: readonly SinkView[];
  readonly batchWait: BatchWait;
  /** Why the batch of the webhook-id was not found, and what to do. */
  readonly unknownBatch: string | undefined;
}

function show(
  { rows, more, sinks, batchWait, unknownBatch }: Found,
  options: Options & GlobalOptions,
  surroundings: Surroundings,
) {
  const { stdout, stderr, clock } = surroundings;
  if (unknownBatch !== undefined) stderr.write(`${unknownBatch}\n`);
  if (options.json) {
    stdout.write(printJson({ deliveries: rows.map((row) => deliveryJson(row, batchWait)), more }));
    return;
  }
  if (options.csv) {
    stdout.write(
      csvOf(
        rows.map((row) => deliveryJson(row, batchWait)),
        DELIVERY_COLUMNS,
      ),
    );
    if (more) stderr.write(moreNote(rows));
    return;
  }
  if (rows.length === 0) {
    if (unknownBatch === undefined) stderr.write('No delivery matches.\n');
    return;
  }
  const columns = [
    { head: 'OWED', dropOrder: 4 },
    { head: 'DELIVERY' },
    { head: 'STATE' },
    { head: 'ATTEMPTS', align: 'right', dropOrder: 3 },
    { head: 'HTTP', align: 'right', dropOrder: 2 },
    { head: 'TOOK', align: 'right', dropOrder: 1 },
    { head: 'DETAIL' },
  ] as const;
  const now = clock.now();
  const paint = paintFor(surroundings);
  stdout.write(
    table(
      columns,
      rows.map((row) => [
        printMomentAndAge(row.owedAt, now),
        row.delivery,
        paint(row.state === 'dead' ? 'bad' : undefined, row.state),
        String(row.attempts),
        String(row.lastAttempt?.httpStatus ?? '-'),
        row.lastAttempt ? printSpan(row.lastAttempt.durationMs) : '-',
        explanation(row, { sink: sinks.find(({ name }) => name === row.sink)?.state, batchWait, now }),
      ]),
      widthOf(surroundings),
    ),
  );
  if (more) stderr.write(moreNote(rows));
  const dead = rows.filter(({ state }) => state === 'dead');
  if (dead.length > 0) stderr.write(whatToDo(dead, commandFormatter(options, surroundings)));
}

function moreNote(rows: readonly DeliveryRow[]): string {
  return `These are the newest ${rows.length}; there are more. Continue with --before ${rows.at(-1)?.delivery} or a higher --limit.\n`;
}

function whatToDo(dead: readonly DeliveryRow[], command: ShowCommand): string {
  const erased = dead.filter(({ event }) => event === 'erased').length;
  const stored = `${command('trace LEAD --show-data')} shows the destination's answers.`;
  const notStored = 'Answers to an erasure request are not stored: ask the operator of the receiver.';
  const answers = [erased < dead.length && stored, erased > 0 && notStored].filter(Boolean);
  return `${answers.join(' ')} After fixing the cause, retry one dead delivery with ${command('retry DELIVERY')}, or all of a sink with ${command('retry --sink SINK --state dead')}. ${command('discard DELIVERY --note TEXT')} gives one up.\n`;
}

const WAITS_FOR: Readonly<Partial<Record<SinkState, string>>> = WAIT_REASONS;

function explanation(
  row: DeliveryRow,
  { sink, batchWait, now }: { sink: SinkState | undefined; batchWait: BatchWait; now: Date },
): string {
  const { reason, state, nextAttemptAt, settledAt, ref } = row;
  const batchUntil = batchWait(row);
  const why: string[] = [];
  if (state === 'pending' && nextAttemptAt)
    why.push(
      nextAttemptAt <= now
        ? ((sink && WAITS_FOR[sink]) ??
            (batchUntil
              ? `waits for its batch until ${printMomentAndAge(batchUntil, now)} at the latest`
              : 'due now'))
        : `next attempt ${printMomentAndAge(nextAttemptAt, now)}`,
    );
  if (state === 'delivered' && settledAt) why.push(`delivered ${printMomentAndAge(settledAt, now)}`);
  if (state === 'delivered' && ref) why.push(printable(recordPhrase(ref)));
  if (reason) why.push(printable(reason)); // last, because it is a sentence with a full stop
  return why.join('; ');
}
