import { type ChildProcess, fork } from 'node:child_process';
import { extname } from 'node:path';
import { codeOf } from '../../platform/failures/error-code.ts';
import { replacedProgram } from '../../platform/process/replaced-program.ts';
import { LedgerError } from '../contract/ledger-error.ts';
import { removeLedger } from '../database/leftover-files.ts';
import { type ErrorParts, fromErrorParts } from '../thread/messages.ts';
import type { Recovered } from './build-recovered.ts';
import type { OnCopied } from './copy-tables.ts';

/** A message from the process that builds a recovered ledger. */
export type BuildMessage =
  | { readonly kind: 'copied'; readonly table: string; readonly rows: number }
  | { readonly kind: 'built'; readonly recovered: Recovered }
  | { readonly kind: 'failed'; readonly failure: ErrorParts };

/** The last message from the process; undefined until it arrives. */
type Result = Exclude<BuildMessage, { kind: 'copied' }> | undefined;

/**
 * Runs `buildRecovered` in a separate process, which ends when the signal aborts. If that fails, removes the new ledger.
 * @throws LedgerError; the signal's reason if it aborts
 */
export async function runBuild(
  file: string,
  target: string,
  now: Date,
  { signal, onCopied = () => undefined }: { readonly signal: AbortSignal; readonly onCopied?: OnCopied },
): Promise<Recovered> {
  const replaced = replacedProgram();
  if (replaced) throw new LedgerError('unexpected', replaced.message, replaced.hint);
  signal.throwIfAborted();
  try {
    const result = await resultOf(startBuild(file, target, now), signal, onCopied);
    signal.throwIfAborted();
    if (result?.kind === 'built') return result.recovered;
    throw result ? fromErrorParts(result.failure) : ended();
  } catch (error) {
    removeLedger(target);
    throw error;
  }
}

/** Starts the build program, which is beside this file and, like this file, is in TypeScript or JavaScript. */
function startBuild(file: string, target: string, now: Date): ChildProcess {
  const program = new URL(`./build-process${extname(import.meta.url)}`, import.meta.url);
  return fork(program, [file, target, String(now.getTime()), String(process.pid)], {
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    serialization: 'advanced',
    execArgv: [],
  });
}

async function resultOf(child: ChildProcess, signal: AbortSignal, onCopied: OnCopied): Promise<Result> {
  const end = () => child.kill('SIGKILL');
  signal.addEventListener('abort', end, { once: true });
  let result: Result;
  child.on('message', (message: BuildMessage) => {
    if (message.kind === 'copied') onCopied(message.table, message.rows);
    else result = message;
  });
  const done = Promise.withResolvers<Result>();
  child.once('error', (error) => done.reject(notStarted(error)));
  child.once('close', () => done.resolve(result));
  return done.promise.finally(() => signal.removeEventListener('abort', end));
}

function notStarted(error: Error): LedgerError {
  return new LedgerError(
    'unexpected',
    `No process could be started to recover the ledger (${codeOf(error)}). Nothing was changed.`,
    'The machine or its limits allow no more processes, memory or open files. Raise the limits, or end other processes.',
    error,
  );
}

function ended(): LedgerError {
  return new LedgerError(
    'unexpected',
    'The recovery process was killed. Nothing was changed.',
    'The machine may have run out of memory. Free some memory, then run the command again.',
  );
}
