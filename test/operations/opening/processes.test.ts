import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe } from 'vitest';
import { processesOf } from '../../../src/operations/opening/processes.ts';
import { SignsOfLife } from '../../simulation/outside/signs-of-life.ts';
import { tempDir } from '../../support/files/temp-dir.ts';
import { processesContract } from './processes-contract.ts';

describe('lock files', () => {
  processesContract(() => {
    const dataDir = tempDir();
    const folder = join(dataDir, 'processes');
    mkdirSync(folder);
    return {
      open: () => processesOf(dataDir),
      // The operating system releases the lock and leaves the file.
      kill: (name) => writeFileSync(join(folder, `${name}.lock`), ''),
    };
  });
});

describe('the processes of the simulation', () => {
  processesContract(() => {
    const signs = new SignsOfLife();
    return { open: () => signs, kill: (name) => signs.kill(name) };
  });
});
