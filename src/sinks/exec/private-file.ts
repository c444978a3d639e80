import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { diskFailure } from '../../platform/failures/disk-failure.ts';
import type { Secret } from '../../platform/options/secret.ts';
import { SinkUnavailable } from '../sink.ts';

/** A file in a temporary folder, both open to their owner alone. */
export interface PrivateFile {
  readonly folder: string;
  readonly file: string;
  /** Removes the folder with everything in it. */
  remove(): Promise<void>;
}

/** Writes a secret to a new private file (mode 0600, in a folder of mode 0700). @throws SinkUnavailable */
export async function writePrivateFile(name: string, content: Secret): Promise<PrivateFile> {
  let folder: string | undefined;
  const remove = async () => {
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  };
  try {
    folder = await mkdtemp(join(tmpdir(), 'leadsync-exec-')); // with mode 0700
    const file = join(folder, name);
    await writeFile(file, content.reveal(), { mode: 0o600, flag: 'wx' });
    return { folder, file, remove };
  } catch (cause) {
    await remove().catch(() => undefined);
    const { what, hint } = diskFailure(cause) ?? {
      what: 'cannot be written to',
      hint: 'Check the system log.',
    };
    throw new SinkUnavailable(`The folder for temporary files, ${tmpdir()}, ${what}.`, {
      hint: `${hint} The variable TMPDIR of leadsync names another folder.`,
      unsent: true,
      cause,
    });
  }
}
