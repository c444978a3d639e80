import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { extname } from 'node:path';
import { Writable } from 'node:stream';
import { relations } from '../../catalog/documented.ts';
import { didYouMean } from '../../config/faults/suggest.ts';
import type { QueryValues } from '../../ledger/extraction/run-sql.ts';
import { CommandFailure } from '../shell/command-failure.ts';
import type { Surroundings } from '../shell/context.ts';
import { ExitCode } from '../shell/exit-code.ts';
import type { OutputOptions } from './query-output.ts';

/** What the process of a query is asked. */
export interface QueryJob {
  /** Whoever asks, by the id of its process: without it nobody waits for an answer. */
  readonly parent: number;
  /** The process ends itself when it takes more memory than this. */
  readonly maxBytes: number;
  readonly file: string;
  readonly sql: string;
  readonly values: QueryValues;
  readonly output: OutputOptions;
}

const MB = 1024 ** 2;

/** The signal by which the process of a query ends itself when it takes too much memory. */
export const TOO_MUCH_MEMORY = 'SIGUSR2';

/** What a query came to. */
export type QueryResult =
  | { readonly kind: 'answered'; readonly rows: number; readonly more: boolean }
  | { readonly kind: 'refused'; readonly message: string }
  | { readonly kind: 'failed'; readonly message: string; readonly exitCode: number };

/**
 * Runs a query in a process of its own and passes on what it writes. When its time is over the process is ended: SQLite
 * itself cannot be interrupted. @throws CommandFailure when the query is wrong, or takes longer
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

/** Beside this file, and TypeScript or JavaScript as this one is. */
function start(): ChildProcess {
  const file = new URL(`./query-process${extname(import.meta.url)}`, import.meta.url);
  return fork(file, { stdio: ['ignore', 'pipe', 'ignore', 'ipc'], serialization: 'advanced', execArgv: [] });
}

/** Undefined when the process ended without a word; `unread` when whoever reads our output has had enough. */
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

/** Waits until it can be written, so that we read no faster than that. */
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
      '`leadsync query --list` shows the tables, views and documented queries; docs/store.md says what they hold.',
  );
}

/** The columns of the tables that the SQL names, when SQLite misses a column; undefined when it misses none or no table is known. */
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
    `The query took longer than ${timeoutMs / 1000} s and was ended.`,
    'Ask for less (a time from which on, one source), or for longer with --timeout.',
  );
}

function tookTooMuch(maxBytes: number): CommandFailure {
  return new CommandFailure(
    ExitCode.notDone,
    `The query took more than ${Math.round(maxBytes / MB)} MB of memory and was ended.`,
    'Ask for less (a time from which on, one source, no sorting of whole leads), or allow more with --memory.',
  );
}

function ended(): CommandFailure {
  return new CommandFailure(
    ExitCode.notDone,
    'The process of the query was ended from outside.',
    'The machine may have run out of memory: runSql for less.',
  );
}
