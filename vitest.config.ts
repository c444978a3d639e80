import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Folders and files that take minutes, however short they are: begun last, one of them would run while the other workers have nothing to do. */
const LONG = ['/test/simulation/', '/test/faults/', '/test/exports/', '/test/start/world'];

class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLong = ({ moduleId }: TestSpecification) => LONG.some((folder) => moduleId.includes(folder));
    const sorted = await super.sort(files);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Ends what hangs. How long a test waits for something is for `until` to say, which leaves out the time of a busy machine.
    testTimeout: 900_000,
    hookTimeout: 900_000,
    expect: { poll: { timeout: 300_000 } },
    pool: 'forks',
    sequence: { sequencer: LongFirst },
    // A test waits for other processes and disks half of its time: with three files at a time, two cores are idle for three tenths of a run.
    maxWorkers: Math.max(5, availableParallelism()),
  },
});
