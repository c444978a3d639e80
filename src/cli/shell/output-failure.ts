import { diskFailure } from '../../platform/failures/disk-failure.ts';
import { printable } from '../../platform/text/printable.ts';
import { CommandFailure } from './command-failure.ts';
import { ExitCode } from './exit-code.ts';

/** Of a folder that somebody named, and that was never there. */
const NO_FOLDER = { what: 'cannot be written', hint: 'Make the folder that it is to lie in.' };

/** A file or folder that a command was to write and cannot, in words; undefined where it is another fault. */
export function outputFailure(output: string, error: unknown): CommandFailure | undefined {
  const failure = diskFailure(error, { ENOENT: NO_FOLDER });
  return (
    failure &&
    new CommandFailure(
      ExitCode.notDone,
      `${printable(output)} ${failure.what}.`,
      `${failure.hint} Nothing was left behind.`,
    )
  );
}
