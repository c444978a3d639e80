import { diskFailure } from '../../platform/failures/disk-failure.ts';
import { printable } from '../../platform/text/printable.ts';
import { CommandFailure } from './command-failure.ts';
import { ExitCode } from './exit-code.ts';

/** The failure if a folder in the path that the user gave does not exist. */
const NO_FOLDER = { what: 'cannot be written', hint: 'Create its parent folder.' };

/** Returns the failure for a file or folder that cannot be written; undefined if the error has another cause. */
export function outputFailure(output: string, error: unknown): CommandFailure | undefined {
  const failure = diskFailure(error, { ENOENT: NO_FOLDER });
  return (
    failure &&
    new CommandFailure(
      ExitCode.notDone,
      `${printable(output)} ${failure.what}.`,
      `${failure.hint} No partial file was left.`,
    )
  );
}
