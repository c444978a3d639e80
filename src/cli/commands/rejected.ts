import { Argument, InvalidArgumentError, Option } from 'commander';
import { REJECTED_COLUMNS } from '../../admin/contract/rejected.ts';
import type { Ledger } from '../../ledger/contract/ledger.ts';
import type { RejectionState, StoredRejection } from '../../ledger/contract/page-rows.ts';
import { printMomentAndAge } from '../../platform/text/human-readable.ts';
import { printable, printJson } from '../../platform/text/printable.ts';
import { readLimit } from '../arguments/filter.ts';
import { requireName, sourceNames } from '../arguments/require-name.ts';
import { defineCommand } from '../shell/command.ts';
import { CommandFailure } from '../shell/command-failure.ts';
import { readableConfigOf, type Surroundings, widthOf, withLedger } from '../shell/context.ts';
import { ExitCode } from '../shell/exit-code.ts';
import { recordAction } from '../shell/record-action.ts';
import { table } from '../shell/table.ts';
import { csvOf, csvOption } from '../views/csv.ts';

interface Options {
  readonly source?: string;
  readonly state: RejectionState | 'any';
  readonly limit: number;
  readonly before?: number;
  readonly showData?: boolean;
  readonly json?: boolean;
  readonly csv?: boolean;
}

const STATES = ['open', 'gone', 'resolved', 'any'] as const;

/** `leadsync rejected [ID]`: lists the leads that leadsync could not record, newest first, with the fault in each. With ID, shows one of them. */
export const command = defineCommand<Options>({
  examples: [
    'leadsync rejected',
    'leadsync rejected --source main --state any --json',
    'leadsync rejected 3 --show-data',
  ],
  notes:
    'State: `open` if the last complete listing has the lead, and it is not valid; `gone` if that listing no longer has it; `resolved` if leadsync has recorded it since. The text of a rejected lead is personal data, and the audit log records who reads it.',
  declare: (command) =>
    command
      .addArgument(
        new Argument('[id]', 'only the rejected lead with this id, in any state').argParser(readId),
      )
      .option('--source <name>', 'only rejected leads of this source')
      .addOption(
        new Option('--state <state>', 'only rejected leads in this state').choices(STATES).default('open'),
      )
      .option('--limit <n>', 'maximum number of rejected leads, newest first', readLimit, 50)
      .option(
        '--before <id>',
        'only rejected leads older than this one, usually the last one of the previous list',
        readId,
      )
      .option('--show-data', 'with an id: also show the text of the lead, which is personal data')
      .option('--json', 'print the rejected leads as JSON')
      .addOption(csvOption('rejected leads').conflicts('json')),
  run: async (options, surroundings, [id]) => {
    if (options.showData && id === undefined)
      throw new CommandFailure(
        ExitCode.usage,
        '--show-data needs the id of a rejected lead.',
        'For example: `leadsync rejected 3 --show-data`.',
      );
    const config = readableConfigOf(options, surroundings);
    return withLedger(config, surroundings, async (ledger) => {
      requireName('source', options.source, sourceNames(config, await ledger.status()));
      const { rows, next } = await (id === undefined ? found(ledger, options) : one(ledger, Number(id)));
      const text = options.showData ? await ledger.rejectedText(Number(id)) : undefined;
      if (text !== undefined) {
        const { rejected_id: rejected, source, lead_id: lead } = text;
        await recordAction(config, surroundings, 'reveal', {
          rejected,
          source,
          ...(lead !== null && { lead }),
        });
      }
      show(rows, next, text?.raw, options, surroundings);
      return ExitCode.done;
    });
  },
});

type Found = Awaited<ReturnType<Ledger['rejected']>>;

/** Reads until the limit is reached, because the ledger reads a bounded number of rows at a time. */
async function found(ledger: Ledger, { source, state, limit, before }: Options): Promise<Found> {
  const search = { source, state: state === 'any' ? undefined : state };
  const rows: StoredRejection[] = [];
  let next = before;
  do {
    const page = await ledger.rejected(search, { limit: limit - rows.length, before: next });
    rows.push(...page.rows);
    next = page.next;
  } while (next !== undefined && rows.length < limit);
  return { rows, next };
}

/** @throws CommandFailure if there is no rejected lead with this id */
async function one(ledger: Ledger, id: number): Promise<Found> {
  const { rows } = await ledger.rejected({}, { limit: 1, before: id + 1 });
  if (rows[0]?.rejected_id === id) return { rows, next: undefined };
  throw new CommandFailure(
    ExitCode.usage,
    `There is no rejected lead ${id}.`,
    '`leadsync rejected --state any` lists them; `retention` may have removed it.',
  );
}

function readId(text: string): number {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number from the ID column.');
}

function show(
  rows: readonly StoredRejection[],
  next: number | undefined,
  raw: string | undefined,
  { json, csv }: Options,
  surroundings: Surroundings,
): void {
  const { stdout, stderr, clock } = surroundings;
  const shown = raw === undefined ? rows : rows.map((row) => ({ ...row, raw }));
  if (json) {
    stdout.write(printJson({ rejected: shown, more: next !== undefined }));
    return;
  }
  if (csv)
    stdout.write(csvOf<Shown>(shown, raw === undefined ? REJECTED_COLUMNS : [...REJECTED_COLUMNS, 'raw']));
  else showTable(rows, raw, clock.now(), surroundings);
  if (next !== undefined)
    stderr.write(
      `These are the newest ${rows.length}; there are more. Continue with --before ${next} or a higher --limit.\n`,
    );
}

/** A rejected lead, with its text if that was requested. */
type Shown = StoredRejection & { readonly raw?: string };

function showTable(
  rows: readonly StoredRejection[],
  raw: string | undefined,
  now: Date,
  surroundings: Surroundings,
): void {
  const { stdout, stderr } = surroundings;
  const cells = rows.map((row) => cellsOf(row, now));
  if (rows.length === 0) stderr.write('No rejected lead matches.\n');
  else stdout.write(table(COLUMNS, cells, widthOf(surroundings)));
  if (raw !== undefined) stdout.write(raw === '' ? 'Its text was erased.\n' : `${printable(raw)}\n`);
}

const COLUMNS = [
  { head: 'ID', align: 'right' },
  { head: 'FIRST REJECTED', dropOrder: 1 },
  { head: 'LAST REJECTED', dropOrder: 2 },
  { head: 'SOURCE' },
  { head: 'LEAD' },
  { head: 'STATE' },
  { head: 'FAULT' },
] as const;

function cellsOf(row: StoredRejection, now: Date): string[] {
  const { path, reason } = row;
  return [
    String(row.rejected_id),
    printMomentAndAge(new Date(row.rejected_at), now),
    printMomentAndAge(new Date(row.last_rejected_at), now),
    row.source,
    printable(row.lead_id ?? '-'),
    row.state,
    printable(path === '' ? reason : `${path}: ${reason}`),
  ];
}
