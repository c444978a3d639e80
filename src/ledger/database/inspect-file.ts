import { fork } from 'node:child_process';
import { extname } from 'node:path';
import { replacedProgram } from '../../platform/process/replaced-program.ts';
import { LedgerError, RECOVER } from '../contract/ledger-error.ts';

/** Texts of SQLite may have several lines. */
const LINE_BREAKS = /\s*\n\s*/g;

/**
 * Looks for damage in a ledger's file, in a process of its own, which ends with the signal and with this one: a large file takes minutes, and neither
 * polls nor deliveries wait for it. `whole` also compares each index with its table. Returns undefined when nothing was found, or
 * the process was ended before it was done.
 */
export function inspectFile(
  file: string,
  how: 'quick' | 'whole',
  signal: AbortSignal,
): Promise<LedgerError | undefined> {
  if (signal.aborted || replacedProgram()) return Promise.resolve(undefined);
  const program = new URL(`./inspect-process${extname(import.meta.url)}`, import.meta.url);
  const child = fork(program, [file, how, String(process.pid)], { stdio: 'ignore', execArgv: [] });
  const end = () => child.kill('SIGKILL');
  signal.addEventListener('abort', end, { once: true });
  let found: readonly string[] = [];
  child.once('message', (message) => {
    found = message as readonly string[];
  });
  const done = Promise.withResolvers<LedgerError | undefined>();
  child.once('error', () => done.resolve(undefined)); // no process could be started: nothing is known
  child.once('close', () => done.resolve(found.length === 0 ? undefined : damaged(file, found)));
  return done.promise.finally(() => signal.removeEventListener('abort', end));
}

function damaged(file: string, found: readonly string[]): LedgerError {
  const what = found.map((one) => one.replaceAll(LINE_BREAKS, ' ')).join('; ');
  return new LedgerError('damaged', `The ledger ${file} is damaged: ${what}.`, RECOVER);
}
