import { text as readAll } from 'node:stream/consumers';
import { InvalidArgumentError, Option } from 'commander';
import { queries, relations } from '../../catalog/catalog.ts';
import type { Query } from '../../catalog/query.ts';
import { ledgerPlaceOf } from '../../operations/opening/configured-ledger.ts';
import { ledgerFile } from '../../operations/opening/open-ledger.ts';
import { size } from '../../platform/options/option-types.ts';
import { printable } from '../../platform/text/printable.ts';
import { didYouMean } from '../../platform/text/suggest.ts';
import { FORMATS, type Format } from '../query/query-output.ts';
import { noteOnNumbers, readValues } from '../query/query-values.ts';
import { runOnServer } from '../query/run-on-server.ts';
import { runQuery } from '../query/start-query-process.ts';
import { defineCommand } from '../shell/command.ts';
import { CommandFailure } from '../shell/command-failure.ts';
import { readableConfigOf, type Surroundings, widthOf } from '../shell/context.ts';
import { ExitCode } from '../shell/exit-code.ts';
import { recordAction } from '../shell/record-action.ts';
import { table } from '../shell/table.ts';

interface Options {
  readonly list?: boolean;
  readonly format?: Format;
  readonly limit?: number;
  readonly set?: readonly string[];
  readonly timeout: number;
  /** In bytes. */
  readonly memory: number;
}

/** Default maximum number of rows, for output to a terminal or as a table. */
const DEFAULT_ROWS = 1_000;
const MAX_SECONDS = 86_400;
/** Minimum of `--memory`, in bytes. A query process uses almost this much before it runs a query. */
const MIN_BYTES = 128 * 1024 ** 2;

/** `leadsync query SQL`: runs a query on the ledger. */
export const command = defineCommand<Options>({
  examples: [
    'leadsync query --list',
    'leadsync query --list leads',
    'leadsync query @speed-to-lead --set since=7d',
    'leadsync query "SELECT source, count(*) FROM v_leads_no_pii GROUP BY 1"',
    'leadsync query --format jsonl - < question.sql',
  ],
  notes:
    'A query can only read the ledger; docs/store.md describes its tables and views. The result may be personal data. ' +
    'Text that looks like a number, such as a telephone number, needs quotes: --set "phone=\'61412345678\'".',
  declare: (command) => {
    command
      .option(
        '--list',
        'show the tables, views and documented queries; with the name of a table or view, its columns',
      )
      .addOption(
        new Option('--format <format>', 'the format; default: table on a terminal, else csv').choices(
          FORMATS,
        ),
      )
      .option(
        '--limit <n>',
        `maximum rows; default: ${DEFAULT_ROWS} on a terminal or in a table, else all`,
        readCount,
      )
      .option(
        '--set <name=value...>',
        "the value of :name in the query: a number (25000), a time before now (7d), or text; a value in SQL quotes is always text ('25000')",
      )
      .option('--timeout <seconds>', 'maximum duration', readSeconds, 30)
      .addOption(
        new Option('--memory <size>', 'maximum memory: 512mb, 4gb')
          .argParser(readSize)
          .default(readSize('1gb'), '1gb'),
      );
  },
  run: async (options, surroundings, [given]) => {
    const { asked, set } =
      given === undefined ? queryAfterValues(options.set ?? []) : { asked: given, set: options.set };
    if (options.list) {
      surroundings.stdout.write(
        asked === undefined ? list(widthOf(surroundings)) : columnsOf(asked, widthOf(surroundings)),
      );
      return ExitCode.done;
    }
    if (asked === undefined)
      throw new CommandFailure(
        ExitCode.usage,
        'No query was given.',
        'Add SQL in quotes, @ and the name of a documented query, or - to read SQL from standard input; --list shows tables and queries.',
      );
    const query = await queryOf(asked, surroundings);
    const values = readValues(set ?? [], query, surroundings.clock.now());
    const { sql } = query;
    const config = readableConfigOf(options, surroundings);
    const { runSql } = ledgerPlaceOf(config);
    const { stdout, stderr } = surroundings;
    const terminal = stdout.isTTY === true;
    const format = options.format ?? (terminal ? 'table' : 'csv');
    const limit = options.limit ?? (terminal || format === 'table' ? DEFAULT_ROWS : Number.POSITIVE_INFINITY);
    const output = { format, limit, terminal, room: widthOf(surroundings) };
    await recordAction(config, surroundings, 'query', {
      query: query.name === undefined ? 'SQL' : `@${query.name}`,
    });
    const asks = { sql, values, output, maxBytes: options.memory };
    const timeoutMs = options.timeout * 1_000;
    const { rows, more } = runSql
      ? await runOnServer(runSql, { ...asks, timeoutMs }, surroundings)
      : await runQuery({ ...asks, file: ledgerFile(config.dataDir) }, timeoutMs, surroundings);
    if (more) stderr.write(`These are the first ${rows} rows; there are more: raise --limit to show them.\n`);
    // A server compares a value as its column requires.
    const isUnsure = query.parameters === undefined && !runSql;
    if (rows === 0) stderr.write(`No rows.\n${isUnsure ? noteOnNumbers(values) : ''}`);
    return ExitCode.done;
  },
});

/** Separates a query at the end from the values before it, because `--set` takes all words that follow, including the query. */
function queryAfterValues(words: readonly string[]): { asked: string | undefined; set: readonly string[] } {
  const last = words.at(-1);
  if (last === undefined || /^\w+=/.test(last)) return { asked: undefined, set: words };
  return { asked: last, set: words.slice(0, -1) };
}

async function queryOf(asked: string, { stdin }: Surroundings): Promise<Pick<Query, 'sql'> & Partial<Query>> {
  if (asked === '-') return { sql: await readAll(stdin) };
  return asked.startsWith('@') ? documented(asked.slice(1)) : { sql: asked };
}

function documented(name: string): Query {
  const found = queries.find((one) => one.name === name);
  if (found) return found;
  const names = queries.map((one) => one.name);
  const nearest = didYouMean(name, names);
  throw new CommandFailure(
    ExitCode.usage,
    `There is no documented query "${printable(name)}"${nearest ? `: ${nearest}` : '.'}`,
    `The documented queries are: ${names.map((one) => `@${one}`).join(', ')}.`,
  );
}

/** Returns the columns of a table or view as a text table. @throws CommandFailure if no table or view has that name */
function columnsOf(name: string, width: number | undefined): string {
  const found = relations.find((one) => one.name === name);
  if (found)
    return table(
      [{ head: 'COLUMN' }, { head: 'TYPE' }, { head: 'MEANING' }],
      found.columns.map((column) => [column.name, column.type, column.means]),
      width,
    );
  const nearest = didYouMean(
    name,
    relations.map((one) => one.name),
  );
  throw new CommandFailure(
    ExitCode.usage,
    `There is no table or view "${printable(name)}"${nearest ? `: ${nearest}` : '.'}`,
    '`leadsync query --list` shows the tables and views.',
  );
}

function list(width: number | undefined): string {
  const shown = table(
    [{ head: 'TABLE OR VIEW' }, { head: 'ONE ROW PER' }],
    relations.map(({ name, grain }) => [name, grain]),
    width,
  );
  const asked = table(
    [{ head: 'QUERY' }, { head: 'PARAMETERS' }, { head: 'QUESTION' }],
    queries.map(({ name, parameters, asks }) => [
      `@${name}`,
      parameters.map((one) => one.name).join(' '),
      asks,
    ]),
    width,
  );
  return `${shown}\n${asked}`;
}

function readCount(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number of 1 or more.');
}

function readSize(text: string): number {
  const read = size().safeParse(text);
  if (read.success && read.data >= MIN_BYTES) return read.data;
  throw new InvalidArgumentError('It must be a size of at least 128mb.');
}

function readSeconds(text: string): number {
  const seconds = /^\d+(\.\d+)?s?$/.test(text) ? Number.parseFloat(text) : 0;
  if (seconds > 0 && seconds <= MAX_SECONDS) return seconds;
  throw new InvalidArgumentError(`It must be a number of seconds up to ${MAX_SECONDS}.`);
}
