import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { extname } from 'node:path';
import { Writable } from 'node:stream';
import { relations } from '../../catalog/documented.ts';
import type { QueryValues } from '../../ledger/contract/ledger-tables.ts';
import { didYouMean } from '../../platform/text/suggest.ts';
import { CommandFailure } from '../shell/command-failure.ts';
import type { Surroundings } from '../shell/context.ts';
import { ExitCode } from '../shell/exit-code.ts';
import type { OutputOptions } from './query-output.ts';

/** The job of a query process. */
export interface QueryJob {
  /** The id of the command's process. The query process ends when that process does. */
  readonly parent: number;
  /** Maximum memory, in bytes. The query process ends itself when it uses more. */
  readonly maxBytes: number;
  readonly file: string;
  readonly sql: string;
  readonly values: QueryValues;
  readonly output: OutputOptions;
}

const MB = 1024 ** 2;

/** The signal with which a query process ends itself when it uses too much memory. */
export const TOO_MUCH_MEMORY = 'SIGUSR2';

/** The outcome of a query. */
export type QueryResult =
  | { readonly kind: 'answered'; readonly rows: number; readonly more: boolean }
  | { readonly kind: 'refused'; readonly message: string }
  | { readonly kind: 'failed'; readonly message: string; readonly exitCode: number };

/**
 * Runs a query in a process of its own and forwards its output. Kills the process after `timeoutMs`, because better-sqlite3 cannot
 * interrupt a query. `rows` is undefined if the reader closed the output.
 * @throws CommandFailure if the query is invalid, or exceeds its time or memory
 */
export async function runQuery(
  job: Omit<QueryJob, 'parent'>,
  timeoutMs: number,
  { stdout }: Pick<Surroundings, 'stdout'>,
): Promise<{ rows: number | undefined; more: boolean }> {
  const child = start();
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    child.kill('SIGKILL');
  }, timeoutMs);
  try {
    const result = await resultOf(child, { ...job, parent: process.pid }, stdout);
    if (result === 'unread') return { rows: undefined, more: false };
    if (result?.kind === 'answered') return result;
    if (result !== undefined) throw failure(result, job.sql);
    if (late) throw tookTooLong(timeoutMs);
    throw child.signalCode === TOO_MUCH_MEMORY ? tookTooMuch(job.maxBytes) : ended();
  } finally {
    clearTimeout(timer);
    child.kill('SIGKILL');
  }
}

/** Starts the process from the file next to this one: TypeScript in a checkout, JavaScript in a build. */
function start(): ChildProcess {
  const file = new URL(`./query-process${extname(import.meta.url)}`, import.meta.url);
  return fork(file, { stdio: ['ignore', 'pipe', 'ignore', 'ipc'], serialization: 'advanced', execArgv: [] });
}

/** Returns the outcome; undefined if the process ended without an outcome, `unread` if the reader of the output closed it. */
async function resultOf(
  child: ChildProcess,
  job: QueryJob,
  stdout: Surroundings['stdout'],
): Promise<QueryResult | 'unread' | undefined> {
  let result: QueryResult | undefined;
  child.on('message', (message) => {
    result = message as QueryResult;
  });
  const closed = once(child, 'close');
  child.send(job);
  for await (const text of child.stdout?.setEncoding('utf8') ?? [])
    if (!(await isWritten(stdout, text))) return 'unread';
  await closed;
  return result;
}

/** Writes with back-pressure. Returns false if the output was closed. */
async function isWritten(stdout: Surroundings['stdout'], text: string): Promise<boolean> {
  if (stdout.write(text) !== false || !(stdout instanceof Writable)) return true;
  return once(stdout, 'drain').then(
    () => true,
    () => false,
  );
}

function failure(result: Exclude<QueryResult, { kind: 'answered' }>, sql: string): CommandFailure {
  if (result.kind === 'failed') return new CommandFailure(result.exitCode, result.message);
  return new CommandFailure(
    ExitCode.usage,
    result.message,
    columnsFor(result.message, sql) ??
      '`leadsync query --list` shows the tables, views and documented queries; docs/store.md describes them.',
  );
}

/**
 * Returns the columns of the tables in the SQL. Returns undefined unless the message reports an unknown column and the SQL names a known
 * table.
 */
function columnsFor(message: string, sql: string): string | undefined {
  const [, missing] = /no such column: (?:\w+\.)*(\w+)/.exec(message) ?? [];
  if (missing === undefined) return undefined;
  const words = new Set(sql.toLowerCase().match(/\w+/g));
  const asked = relations.filter(({ name }) => words.has(name));
  if (asked.length === 0) return undefined;
  const names = asked.flatMap(({ columns }) => columns.map(({ name }) => name));
  const nearest = didYouMean(missing, names);
  const lists = asked.map(({ name, columns }) => `${name} has ${columns.map((one) => one.name).join(', ')}.`);
  return [...(nearest ? [`${missing}: ${nearest}`] : []), ...lists].join('\n');
}

function tookTooLong(timeoutMs: number): CommandFailure {
  return new CommandFailure(
    ExitCode.notDone,
    `The query took longer than ${timeoutMs / 1000} s and was stopped.`,
    'Select less (a time range, one source), or allow more time with --timeout.',
  );
}

function tookTooMuch(maxBytes: number): CommandFailure {
  return new CommandFailure(
    ExitCode.notDone,
    `The query used more than ${Math.round(maxBytes / MB)} MB of memory and was stopped.`,
    'Select less (a time range, one source, no sorting of whole leads), or allow more with --memory.',
  );
}

function ended(): CommandFailure {
  return new CommandFailure(
    ExitCode.notDone,
    'The query process ended unexpectedly; another process or the operating system may have killed it.',
    'The machine may have run out of memory: select less.',
  );
}
