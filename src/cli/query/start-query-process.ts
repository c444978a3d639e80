import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { extname } from 'node:path';
import type { QueryValues } from '../../ledger/contract/ledger-tables.ts';
import { CommandFailure } from '../shell/command-failure.ts';
import type { Surroundings } from '../shell/context.ts';
import { ExitCode } from '../shell/exit-code.ts';
import { refused, tookTooLong, tookTooMuch } from './query-failures.ts';
import type { OutputOptions } from './query-output.ts';
import { isWritten } from './write-with-back-pressure.ts';

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
    if (result?.kind === 'refused') throw refused(result.message, job.sql);
    if (result?.kind === 'failed') throw new CommandFailure(result.exitCode, result.message);
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

function ended(): CommandFailure {
  return new CommandFailure(
    ExitCode.notDone,
    'The query process ended unexpectedly; another process or the operating system may have killed it.',
    'The machine may have run out of memory: select less.',
  );
}
