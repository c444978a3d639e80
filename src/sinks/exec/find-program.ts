import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { delimiter, isAbsolute, join, resolve } from 'node:path';
import { codeOf } from '../../platform/failures/error-code.ts';
import { SinkUnavailable } from '../sink-unavailable.ts';

/** Where a program is looked for. */
interface Surroundings {
  /** The folder in which the program runs: an absolute path. */
  readonly cwd: string;
  /** The value of `PATH` that the program gets. */
  readonly path: string;
}

const WRONG_FOLDER: Readonly<Record<string, readonly [what: string, hint: string]>> = {
  ENOENT: ['does not exist', 'Create it, or correct `cwd`.'],
  ENOTDIR: ['is not a folder', 'Correct `cwd`.'],
  EACCES: ['is closed to leadsync', 'Allow the user that leadsync runs as to enter it, or correct `cwd`.'],
};

/**
 * Returns the absolute path of a program that this user may execute. Does not start it.
 * @throws SinkUnavailable if the folder to run it in, or the program, cannot be used
 */
export async function findProgram(program: string, { cwd, path }: Surroundings): Promise<string> {
  await requireFolder(cwd);
  if (program.includes('/')) {
    const file = resolve(cwd, program);
    const why = await whyNotExecutable(file);
    if (why === undefined) return file;
    throw unusable(file, why);
  }
  let found: { readonly file: string; readonly why: string } | undefined;
  for (const folder of path.split(delimiter).filter(isAbsolute)) {
    const file = join(folder, program);
    const why = await whyNotExecutable(file);
    if (why === undefined) return file;
    if (why !== 'ENOENT' && why !== 'ENOTDIR') found ??= { file, why };
  }
  if (found) throw unusable(found.file, found.why);
  throw new SinkUnavailable(`There is no program "${program}" on the PATH of leadsync.`, {
    hint: `Install it, or write its whole path in \`command\`. The PATH is ${path}.`,
    unsent: true,
  });
}

async function requireFolder(cwd: string): Promise<void> {
  const code = await access(cwd, constants.X_OK)
    .then(() => stat(cwd))
    .then((folder) => (folder.isDirectory() ? undefined : 'ENOTDIR'), codeOf);
  if (code === undefined) return;
  const [what, hint] = WRONG_FOLDER[code] ?? [`cannot be entered (${code})`, 'Correct `cwd`.'];
  throw new SinkUnavailable(`The folder ${cwd}, in which the program must run, ${what}.`, {
    hint,
    unsent: true,
  });
}

/** Returns the code of the failure; undefined if the file can be executed. */
async function whyNotExecutable(file: string): Promise<string | undefined> {
  try {
    if ((await stat(file)).isDirectory()) return 'EISDIR';
    await access(file, constants.X_OK);
    return undefined;
  } catch (error) {
    return codeOf(error) ?? 'unknown error';
  }
}

function unusable(file: string, code: string): SinkUnavailable {
  const [what, hint] =
    code === 'ENOENT' || code === 'ENOTDIR'
      ? ['does not exist', 'Correct `command`: a relative path is relative to `cwd`.']
      : code === 'EACCES'
        ? [
            'is not executable for leadsync',
            `Allow the user that leadsync runs as to execute it: chmod +x ${file}`,
          ]
        : code === 'EISDIR'
          ? ['is a folder', 'Correct `command`.']
          : [`cannot be executed (${code})`, 'Correct `command`.'];
  return new SinkUnavailable(`The program ${file} ${what}.`, { hint, unsent: true });
}
