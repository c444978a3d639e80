import { execFileSync, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { tempDir } from '../support/files/temp-dir.ts';
import { until } from '../support/time/until.ts';

const SRC = join(import.meta.dirname, '../../src/ledger');

/** Source text that starts a process for a ledger's file, for the process that runs it. */
const STARTS = {
  'a recovery': `import { runBuild } from '${SRC}/recovery/start-build-process.ts';
    await runBuild(file, file + '.recovered', new Date(), { signal: new AbortController().signal });`,
  'a search for damage': `import { inspectFile } from '${SRC}/database/inspect-file.ts';
    await inspectFile(file, 'whole', new AbortController().signal);`,
};

/** Returns a file that blocks any process that opens it, in the middle of a call of SQLite. */
function endlessFile(): string {
  const file = join(tempDir(), 'ledger.db');
  execFileSync('mkfifo', [file]);
  return file;
}

test.each(Object.entries(STARTS))(
  'the process of %s ends when the process that started it is killed',
  async (_, code) => {
    const text = `const file = ${JSON.stringify(endlessFile())}; ${code}`;
    const parent = spawn(process.execPath, ['--input-type=module', '--eval', text], { stdio: 'ignore' });
    onTestFinished(() => void parent.kill('SIGKILL'));
    const children = `/proc/${parent.pid}/task/${parent.pid}/children`;
    const child = await until('it has started a process', () => readFileSync(children, 'utf8').trim());
    onTestFinished(() => {
      if (existsSync(`/proc/${child}`)) process.kill(Number(child), 'SIGKILL');
    });
    expect(child).toMatch(/^\d+$/);
    parent.kill('SIGKILL');
    await until('that has ended too', () => !existsSync(`/proc/${child}`));
  },
);
