import { AdminAddressError } from '../../admin/address-error.ts';
import { ConfigError, formatFault } from '../../config/contract/config-error.ts';
import { LedgerError, type LedgerErrorCode } from '../../ledger/contract/ledger-error.ts';
import {
  InstallationUnknown,
  NewLedgerRefused,
  StoppedBeforeStart,
} from '../../operations/opening/new-ledger.ts';
import { DataDirInUse, DataDirUnusable } from '../../operations/opening/open-ledger.ts';
import { NoLedgerFile } from '../../operations/opening/require-ledger-file.ts';
import { SourceError, type SourceErrorCode } from '../../source/contract/source.ts';
import { CommandFailure } from './command-failure.ts';
import { ExitCode } from './exit-code.ts';

/** Returns the message and exit code for an error. The message contains no lead content. */
export function explainFailure(error: unknown): { message: string; exitCode: number } {
  if (error instanceof ConfigError)
    return { message: error.faults.map(formatFault).join('\n'), exitCode: ExitCode.configuration };
  const exitCode = exitCodeOf(error);
  if (exitCode === undefined) return { message: unexpectedMessage(error), exitCode: ExitCode.notDone };
  const { message, hint } = error as Error & { hint: string };
  return { message: hint ? `${message}\n${hint}` : message, exitCode };
}

/** Returns the name and stack of an unexpected error, without its message, which may quote a lead. */
function unexpectedMessage(error: unknown): string {
  const { name, stack = '' } = error instanceof Error ? error : new Error();
  const places = stack.split('\n').filter((line) => /^ {4}at /.test(line));
  const lines = ['leadsync failed with an unexpected error', `(${name}). Please report it with these lines:`];
  return [lines.join(' '), ...places].join('\n');
}

/** The server of the ledger cannot be reached, or is not the one that leadsync can work with. */
const NO_SERVER: ReadonlySet<LedgerErrorCode> = new Set(['away', 'standby']);
const UNREACHABLE: ReadonlySet<SourceErrorCode> = new Set(['unreachable', 'rate-limited', 'server']);

function exitCodeOf(error: unknown): number | undefined {
  if (error instanceof CommandFailure) return error.exitCode;
  if (error instanceof DataDirInUse) return ExitCode.inUse;
  if (error instanceof LedgerError && error.code === 'held') return ExitCode.inUse;
  if (error instanceof LedgerError && NO_SERVER.has(error.code)) return ExitCode.unreachable;
  if (error instanceof NewLedgerRefused || error instanceof NoLedgerFile) return ExitCode.configuration;
  if (error instanceof InstallationUnknown) return ExitCode.unreachable;
  if (error instanceof StoppedBeforeStart) return ExitCode.notDone;
  if (error instanceof SourceError)
    return UNREACHABLE.has(error.code) ? ExitCode.unreachable : ExitCode.notDone;
  if (error instanceof LedgerError || error instanceof DataDirUnusable || error instanceof AdminAddressError)
    return ExitCode.notDone;
  return undefined;
}
