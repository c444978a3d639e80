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
    if (code === 'EEXIST') throw alreadyThere(file, hint);
    throw new CommandFailure(
      ExitCode.notDone,
      `${printable(file)} cannot be written (${code}).`,
      'See whether its folder exists and belongs to you.',
    );
  }
}

/** A file that must not be overwritten. */
export function alreadyThere(file: string, hint: string): CommandFailure {
  return new CommandFailure(
    ExitCode.notDone,
    `${printable(file)} is there already, and was left as it is.`,
    hint,
  );
}
