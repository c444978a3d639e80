import { closeSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { codeOf } from '../../platform/failures/error-code.ts';
import { printable } from '../../platform/text/printable.ts';
import { CommandFailure } from './command-failure.ts';
import { ExitCode } from './exit-code.ts';
import { outputFailure } from './output-failure.ts';

/** Writes a new file, and removes it if the writing fails. `hint` is the next step if the file already exists. @throws CommandFailure */
export function writeNewFile(file: string, content: string | Buffer, hint: string, mode = 0o666): void {
  try {
    const open = openSync(file, 'wx', mode);
    try {
      writeFileSync(open, content);
    } catch (error) {
      rmSync(file);
      throw error;
    } finally {
      closeSync(open);
    }
  } catch (error) {
    throw codeOf(error) === 'EEXIST' ? alreadyThere(file, hint) : (outputFailure(file, error) ?? error);
  }
}

/** Returns the failure for a file that exists and must not be overwritten. */
export function alreadyThere(file: string, hint: string): CommandFailure {
  return new CommandFailure(ExitCode.notDone, `${printable(file)} already exists and was not changed.`, hint);
}
