import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tempDir } from '../support/files/temp-dir.ts';

/** Opens files until there are no more to be had, then runs an export, and lives on for a moment. */
const program = (folder: string) => `
  import { openSync } from 'node:fs';
  import { runExport } from ${JSON.stringify(join(import.meta.dirname, '../../src/exports/start-export-process.ts'))};
  const target = { type: 'directory', directory: ${JSON.stringify(folder)} };
  const config = { name: 'nightly', tables: ['leads'], format: 'csv', rows: 'all', schedule: { everyMs: 1 }, keep: undefined, target };
  const run = { ledgerFile: 'ledger.db', at: new Date(), last: undefined, first: true };
  try { for (;;) openSync('/dev/null', 'r'); } catch {}
  const result = await runExport(config, run, { folder: target.directory, niceness: 0 }, new AbortController().signal);
  await new Promise((resolve) => setTimeout(resolve, 50));
  process.stdout.write(JSON.stringify(result));
`;

test('an export fails if its process cannot be started, and the process that requested it continues', () => {
  const node = [process.execPath, '--input-type=module', '--eval', program(tempDir())];
  const said = execFileSync('sh', ['-c', 'ulimit -n 80; exec "$@"', 'sh', ...node], { encoding: 'utf8' });
  expect(JSON.parse(said)).toEqual({
    kind: 'failed',
    message: 'leadsync could not start a process for the export (EMFILE).',
    hint: expect.stringContaining('open files'),
  });
});
