import { join } from 'node:path';
import { describe } from 'vitest';
import { processesOf } from '../../../src/operations/opening/processes.ts';
import { acquireLock } from '../../../src/platform/files/file-lock.ts';
import { SignsOfLife } from '../../simulation/outside/signs-of-life.ts';
import { tempDir } from '../../support/files/temp-dir.ts';
import { processesContract } from './processes-contract.ts';

describe('lock files', () => {
  processesContract(() => {
    const dataDir = tempDir();
    const locks = new Map<string, { release(): void }>();
    return {
      open: () => processesOf(dataDir),
      join: async (name) => {
        const left = await processesOf(dataDir).join(name);
        left.release(); // makes the folder; the lock below is held as by another process
        locks.set(name, acquireLock(join(dataDir, 'processes', `${name}.lock`)));
      },
      // The operating system releases the lock and leaves the file.
      kill: (name) => locks.get(name)?.release(),
    };
  });
});

describe('the processes of the simulation', () => {
  processesContract(() => {
    const signs = new SignsOfLife();
    return {
      open: () => signs,
      join: async (name) => void (await signs.join(name)),
      kill: (name) => signs.kill(name),
    };
  });
});
