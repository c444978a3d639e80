import { extname } from 'node:path';
import { InvalidArgumentError, Option } from 'commander';
import { relations } from '../../catalog/catalog.ts';
import { extractionOf } from '../../catalog/extraction.ts';
import type { Relation } from '../../catalog/relation.ts';
import { EXPORT_FORMATS, type ExportFormat } from '../../exports/contract/format-names.ts';
import { type ExportRequest, exportTables } from '../../exports/files/export-tables.ts';
import { ledgerPlaceOf } from '../../operations/opening/configured-ledger.ts';
import { PathExists, TemporaryRemoved } from '../../platform/files/write-atomically.ts';
import { listenForStop } from '../../platform/process/stop-signals.ts';
import { printable } from '../../platform/text/printable.ts';
import { didYouMean } from '../../platform/text/suggest.ts';
import { MOMENT_FORMS } from '../../platform/time/parse-moment.ts';
import { readMoment } from '../arguments/read-moment.ts';
import { makeScheduled } from '../run-scheduled-export.ts';
import { defineCommand } from '../shell/command.ts';
import { CommandFailure } from '../shell/command-failure.ts';
import { readableConfigOf } from '../shell/context.ts';
import { ExitCode } from '../shell/exit-code.ts';
import { outputFailure } from '../shell/output-failure.ts';
import { recordAction } from '../shell/record-action.ts';
import { RowProgress } from '../shell/row-progress.ts';

interface Options {
  readonly name?: string;
  readonly table?: readonly Relation[];
  readonly all?: boolean;
  readonly format?: ExportFormat;
  readonly partition?: 'day';
  readonly since?: Date;
}

/** `leadsync export OUTPUT`: exports tables and views of the ledger as files. */
export const command = defineCommand<Options>({
  examples: [
    'leadsync export leads.parquet',
    'leadsync export --all store.sqlite',
    'leadsync export --table leads --table deliveries --since 7d week/',
    'leadsync export --partition day --table leads lake/',
    'leadsync export --name nightly',
  ],
  notes:
    'The output is a file, or a folder for several tables or days, and must not exist yet. It appears only when it is complete, is readable by you alone, and holds personal data unless you export only v_leads_no_pii. leadsync may be running. docs/exporting.md describes the content.\nWith --name the configuration determines all this, and the export counts as a scheduled run.',
  declare: (command, { clock }) => {
    command
      .option('--name <export>', 'run this configured export now; excludes all other options')
      .option('--table <name>', 'a table or view; repeat for several (default: leads)', readTable)
      .option('--all', 'every table and view')
      .addOption(
        new Option(
          '--format <format>',
          "the default follows the file's extension; parquet for a folder, or without an extension",
        ).choices(EXPORT_FORMATS),
      )
      .addOption(
        new Option('--partition <by>', 'write the rows of each UTC day to its own folder').choices(['day']),
      )
      .option(
        '--since <time>',
        `only rows that are new or changed since this time: ${MOMENT_FORMS}`,
        (text: string) => readMoment(text, clock.now()),
      );
  },
  run: async (options, surroundings, [output]) => {
    if (options.name !== undefined) {
      refuseOthers(options, output);
      return makeScheduled({ ...options, name: options.name }, surroundings);
    }
    if (output === undefined || output === '' || output === '-') throw NO_OUTPUT;
    const wanted = requestOf(output, options, surroundings.clock.now());
    const config = readableConfigOf(options, surroundings);
    const request = { ...wanted, ledger: ledgerPlaceOf(config).tables };
    const tables = request.relations.map(({ name }) => name).join(', ');
    const { stdout, stderr } = surroundings;
    await recordAction(config, surroundings, 'export', { tables });
    const progress = new RowProgress(stderr);
    const stop = listenForStop((name) => process.exit(name === 'SIGINT' ? 130 : 143));
    try {
      await exportTables(request, progress.reportProgress, stop.signal);
    } catch (error) {
      throw explain(error, output, stop.signal);
    } finally {
      progress.end();
      stop.release();
    }
    for (const { name } of request.relations.filter((one) => isWhole(one, request)))
      stderr.write(`${name} was exported completely, because its rows have no time.\n`);
    stdout.write(progress.summary());
    stdout.write(`Wrote ${printable(output)}\n`);
    return ExitCode.done;
  },
});

const NO_OUTPUT = new CommandFailure(
  ExitCode.usage,
  'No output was named.',
  'Name a file or folder that does not exist yet, or a configured export with --name. To print rows, use `leadsync query`.',
);

function refuseOthers({ table, all, format, partition, since }: Options, output: string | undefined): void {
  if ([output, table, all, format, partition, since].every((one) => one === undefined)) return;
  throw new CommandFailure(
    ExitCode.usage,
    'With --name, the configuration determines what is exported and where.',
    'Remove the output and the other options, or --name.',
  );
}

function requestOf(output: string, options: Options, now: Date): Omit<ExportRequest, 'ledger'> {
  const chosen = chosenTables(options);
  const format = formatOf(output, options);
  if (format === 'sqlite' && options.partition)
    throw new CommandFailure(
      ExitCode.usage,
      'An SQLite file has no partitions.',
      'Remove --partition, or choose another --format.',
    );
  const isFolder = /\/$/.test(output) || (chosen.length > 1 && format !== 'sqlite');
  return {
    output: output.replace(/(.)\/+$/, '$1'),
    format,
    relations: chosen,
    layout: options.partition ? 'days' : isFolder ? 'folder' : 'file',
    since: options.since,
    exportedAt: now,
  };
}

function chosenTables({ table, all }: Options): readonly Relation[] {
  if (all && table)
    throw new CommandFailure(
      ExitCode.usage,
      '--all and --table cannot be combined.',
      'Remove one of the two.',
    );
  const chosen = new Set(all ? relations : (table ?? relations.filter(({ name }) => name === 'leads')));
  return [...chosen];
}

const ENDINGS: Readonly<Record<string, ExportFormat>> = {
  '.parquet': 'parquet',
  '.csv': 'csv',
  '.jsonl': 'jsonl',
  '.ndjson': 'jsonl',
  '.sqlite': 'sqlite',
  '.db': 'sqlite',
};

function formatOf(output: string, { format }: Options): ExportFormat {
  const ending = extname(output);
  const named = format ?? (ending === '' || output.endsWith('/') ? 'parquet' : ENDINGS[ending]);
  if (named !== undefined) return named;
  throw new CommandFailure(
    ExitCode.usage,
    `The format of ${printable(ending)} is unknown.`,
    `Use one of the extensions ${Object.keys(ENDINGS).join(', ')}, or set --format.`,
  );
}

function isWhole({ name }: Relation, { since }: Pick<ExportRequest, 'since'>): boolean {
  return since !== undefined && extractionOf(name).since === undefined;
}

function readTable(name: string, before: readonly Relation[] = []): readonly Relation[] {
  const found = relations.find((one) => one.name === name);
  if (found) return [...before, found];
  const nearest = didYouMean(
    name,
    relations.map((one) => one.name),
  );
  throw new InvalidArgumentError(
    `${nearest ?? ''} \`leadsync query --list\` shows the tables and views.`.trim(),
  );
}

function explain(error: unknown, output: string, stop: AbortSignal): unknown {
  if (stop.aborted)
    return new CommandFailure(ExitCode.notDone, 'The export was stopped. No partial file was left.');
  if (error instanceof PathExists)
    return new CommandFailure(ExitCode.notDone, printable(error.message), 'Name another output.');
  if (error instanceof TemporaryRemoved)
    return new CommandFailure(ExitCode.notDone, printable(error.message), error.hint);
  return outputFailure(output, error) ?? error;
}
