import { join } from 'node:path';
import { rolldown } from 'rolldown';

const src = join(import.meta.dirname, '../src');

/** What Node is started with: the program itself, and what it runs in processes and threads of their own. */
const PROGRAMS = [
  'main.ts',
  'cli/query-process.ts',
  'cli/query-watch.ts',
  'exports/export-process.ts',
  'exports/piece-thread.ts',
  'ledger/inspect-process.ts',
  'ledger/reader-thread.ts',
];

/**
 * What becomes part of the bundle: packages that every command loads, and the bundler's own helpers, which no installation brings.
 * Other packages stay apart, and are loaded where they are needed.
 */
const BUNDLED = /^(commander|yaml|zod|@oxc-project\/runtime)(\/|$)/;

/**
 * Bundles src/ into a folder, as JavaScript: a start reads some thirty files in place of seven hundred. All of them lie side by side,
 * so that each program is found beside whatever starts it.
 */
export async function bundle(folder: string): Promise<void> {
  const bundler = await rolldown({
    input: PROGRAMS.map((file) => join(src, file)),
    platform: 'node',
    external: (id) => /^[@a-z]/.test(id) && !BUNDLED.test(id),
  });
  await bundler.write({ dir: folder, format: 'esm', chunkFileNames: '[name]-[hash].js' });
  await bundler.close();
}
