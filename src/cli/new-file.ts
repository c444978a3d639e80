import { writeFileSync } from 'node:fs';
import { ExitCode } from './exit-code.ts';
import { CommandFailure } from './failure.ts';
import { printable } from './printable.ts';

/** Writes a file that is not there yet. `hint` says what to do when it is. @throws CommandFailure */
export function writeNewFile(file: string, content: string | Buffer, hint: string, mode = 0o666): void {
  try {
    writeFileSync(file, content, { flag: 'wx', mode });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const shown = printable(file);
    throw code === 'EEXIST'
      ? new CommandFailure(ExitCode.notDone, `${shown} is there already, and was left as it is.`, hint)
      : new CommandFailure(
          ExitCode.notDone,
          `${shown} cannot be written (${code}).`,
          'See whether its folder exists and belongs to you.',
        );
  }
}
