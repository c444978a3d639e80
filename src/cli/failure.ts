import { AdminAddressError } from '../admin/server.ts';
import { ConfigError, formatFault } from '../config/config-error.ts';
import { DataDirHeld, DataDirUnusable } from '../daemon/open-ledger.ts';
import { LedgerError } from '../ledger/ledger-error.ts';
import { SinkUnavailable } from '../sinks/sink.ts';
import { SourceError } from '../source/source.ts';
import { ExitCode } from './exit-code.ts';

/** A command that cannot do what it was asked, with what to say and the exit code. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure';
  readonly exitCode: number;
  readonly hint: string;

  constructor(exitCode: number, message: string, hint = '') {
    super(message);
    this.exitCode = exitCode;
    this.hint = hint;
  }
}

/** What to print for an error, in plain sentences, and how to exit. Undefined for what nobody foresaw. */
export function explainFailure(error: unknown): { message: string; exitCode: number } | undefined {
  if (error instanceof ConfigError) {
    return { message: error.faults.map(formatFault).join('\n'), exitCode: ExitCode.configuration };
  }
  const exitCode = exitCodeOf(error);
  if (exitCode === undefined) return undefined;
  const { message, hint } = error as Error & { hint: string };
  return { message: hint ? `${message}\n${hint}` : message, exitCode };
}

function exitCodeOf(error: unknown): number | undefined {
  if (error instanceof CommandFailure) return error.exitCode;
  if (error instanceof DataDirHeld) return ExitCode.held;
  if (error instanceof SourceError || error instanceof SinkUnavailable) return ExitCode.unreachable;
  if (error instanceof LedgerError || error instanceof DataDirUnusable || error instanceof AdminAddressError)
    return ExitCode.notDone;
  return undefined;
}
