import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tempDir } from '../support/temp-dir.ts';

const ROOT = join(import.meta.dirname, '../..');

test('a build runs like a checkout, and refuses to start with LEADSYNC_FAILPOINTS', () => {
  const built = aBuild();
  const leadsync = (env: Record<string, string>) =>
    spawnSync(process.execPath, [join(built, 'bin/leadsync.js'), '--version'], {
      env: { ...process.env, ...env },
      encoding: 'utf8',
    });
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  expect(leadsync({})).toMatchObject({ stderr: '', stdout: expect.stringContaining(version), status: 0 });
  expect(leadsync({ LEADSYNC_FAILPOINTS: 'settled=kill' })).toMatchObject({
    status: 2,
    stdout: '',
    stderr: expect.stringContaining('LEADSYNC_FAILPOINTS is for tests of a checkout. Remove it'),
  });
});

/** What `npm run build` makes, with what a package has beside it. Types are checked elsewhere. */
function aBuild(): string {
  const folder = tempDir();
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  const args = ['-p', join(ROOT, 'tsconfig.build.json'), '--outDir', join(folder, 'dist'), '--noCheck'];
  execFileSync(process.execPath, [tsc, ...args], { stdio: 'pipe' });
  for (const name of ['bin', 'package.json'])
    cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  return folder;
}
