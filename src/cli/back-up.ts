import { statSync } from 'node:fs';
import { PathExists, TemporaryRemoved, writeAtomically } from '../exports/files/atomic-write.ts';
import { backUpLedger } from '../ledger/database/backup.ts';
import { ledgerFile } from '../operations/opening/open-ledger.ts';
import { listenForStop } from '../platform/process/stop-signals.ts';
import { printBytes } from '../platform/text/format.ts';
import { printable } from '../platform/text/printable.ts';
import { CommandFailure } from './shell/command-failure.ts';
import { type GlobalOptions, readableConfigOf, type Surroundings } from './shell/context.ts';
import { ExitCode } from './shell/exit-code.ts';
import { outputFailure } from './shell/output-failure.ts';
import { RowProgress } from './shell/row-progress.ts';

/** `leadsync ledger backup FILE`: copies the ledger in an atomic write, whether leadsync is running or not. */
export async function backUp(
  options: GlobalOptions,
  surroundings: Surroundings,
  output: string | undefined,
): Promise<number> {
  if (output === undefined || output === '')
    throw new CommandFailure(
      ExitCode.usage,
      'No output file was named.',
      'Name a file that does not exist yet: `leadsync ledger backup FILE`.',
    );
  const file = ledgerFile(readableConfigOf(options, surroundings).dataDir);
  const { stdout, stderr } = surroundings;
  const progress = new RowProgress(stderr);
  const onCopied = ({ bytes, of }: { bytes: number; of: number }) =>
    progress.say(`Copied ${printBytes(bytes)} of ${printBytes(of)}`);
  const stop = listenForStop((name) => process.exit(name === 'SIGINT' ? 130 : 143));
  try {
    await writeAtomically(output, (copy) => backUpLedger(file, copy, { signal: stop.signal, onCopied }));
  } catch (error) {
    throw explain(error, output, stop.signal);
  } finally {
    progress.end();
    stop.release();
  }
  stdout.write(`Wrote ${printable(output)}, ${printBytes(statSync(output).size)}. It holds personal data.\n`);
  return ExitCode.done;
}

function explain(error: unknown, output: string, signal: AbortSignal): unknown {
  if (signal.aborted && error === signal.reason)
    return new CommandFailure(ExitCode.notDone, 'The backup was stopped. No partial file was left.');
  if (error instanceof PathExists)
    return new CommandFailure(ExitCode.notDone, printable(error.message), 'Name another file.');
  if (error instanceof TemporaryRemoved)
    return new CommandFailure(ExitCode.notDone, printable(error.message), error.hint);
  return outputFailure(output, error) ?? error;
}
