import { type ChildProcess, fork } from 'node:child_process';
import { extname } from 'node:path';
import { codeOf } from '../../platform/failures/error-code.ts';
import { replacedProgram } from '../../platform/process/replaced-program.ts';
import { LedgerError } from '../contract/ledger-error.ts';
import { removeLedger } from '../database/leftovers.ts';
import { type ErrorParts, fromErrorParts } from '../thread/messages.ts';
import type { Recovered } from './build.ts';
import type { OnCopied } from './copy-tables.ts';

/** What the process that makes a recovered ledger tells. */
export type BuildMessage =
  | { readonly kind: 'copied'; readonly table: string; readonly rows: number }
  | { readonly kind: 'built'; readonly recovered: Recovered }
  | { readonly kind: 'failed'; readonly failure: ErrorParts };

/** What came of it; undefined while nothing has. */
type Result = Exclude<BuildMessage, { kind: 'copied' }> | undefined;

/**
 * Runs `buildRecovered` in a process of its own, which ends with the signal. Unless this resolves, nothing is left of the new ledger.
 * @throws LedgerError, or the signal's reason
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

/** Beside this file, and TypeScript or JavaScript as this one is. */
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
    'The machine or its limits allow no more processes, memory or open files: raise them, or end what takes them.',
    error,
  );
}

function ended(): LedgerError {
  return new LedgerError(
    'unexpected',
    'The process that recovered the ledger was ended from outside. Nothing was changed.',
    'The machine may have run out of memory. Free some, and run the command again.',
  );
}
