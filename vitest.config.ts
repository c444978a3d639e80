import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Ends what hangs. How long a test waits for something is for `until` to say, which leaves out the time of a busy machine.
    testTimeout: 900_000,
    hookTimeout: 900_000,
    pool: 'forks',
    // Most tests wait for other processes more than they work.
    maxWorkers: Math.max(3, availableParallelism()),
  },
});
