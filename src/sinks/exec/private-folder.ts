import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { diskFailure } from '../../platform/failures/disk-failure.ts';
import { SinkUnavailable } from '../sink-unavailable.ts';

/** A temporary folder that only its owner can open (mode 0700). */
export interface PrivateFolder {
  readonly path: string;
  /** Removes the folder with everything in it. */
  remove(): Promise<void>;
}

/** Makes an empty private folder. @throws SinkUnavailable */
export async function makePrivateFolder(): Promise<PrivateFolder> {
  try {
    const path = await mkdtemp(join(tmpdir(), 'leadsync-exec-'));
    return { path, remove: () => rm(path, { recursive: true, force: true }) };
  } catch (cause) {
    const { what, hint } = diskFailure(cause) ?? {
      what: 'cannot be written to',
      hint: 'Check the system log.',
    };
    throw new SinkUnavailable(`The folder for temporary files, ${tmpdir()}, ${what}.`, {
      hint: `${hint} To use another folder, set leadsync's environment variable TMPDIR.`,
      unsent: true,
      cause,
    });
  }
}
