import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { commitOf } from '../src/cli/shell/build-info.ts';
import { bundle } from './bundle.ts';

/** `npm run build`: bundles src/ into dist/, and adds the commit, the manual page and the completion scripts. */

const root = join(import.meta.dirname, '..');
const dist = join(root, 'dist');

/** `LEADSYNC_COMMIT` sets the commit where there is no git repository, as in the build of an image. */
const commit = process.env['LEADSYNC_COMMIT'] || commitOf(root);
/** `SOURCE_DATE_EPOCH`, in seconds since 1970, makes the build reproducible to the byte. */
const epoch = process.env['SOURCE_DATE_EPOCH'];
const built = (epoch ? new Date(Number(epoch) * 1000) : new Date()).toISOString().replace(/\.\d+Z$/, 'Z');

/** The file name of each shell's completion script, as the shell expects it. */
const completions = { bash: 'leadsync', zsh: '_leadsync', fish: 'leadsync.fish' };

function node(...args: readonly string[]): string {
  return execFileSync(process.execPath, args, {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

function write(file: string, content: string): void {
  mkdirSync(join(dist, file, '..'), { recursive: true });
  writeFileSync(join(dist, file), content);
}

rmSync(dist, { recursive: true, force: true });
await bundle(dist);
cpSync(join(root, 'src/admin/assets'), join(dist, 'admin/assets'), { recursive: true });
write('build.json', `${JSON.stringify({ commit, built })}\n`);
write('man/leadsync.1', node('dist/main.js', 'man'));
for (const [shell, file] of Object.entries(completions))
  write(`completions/${file}`, node('dist/main.js', 'completion', shell));
