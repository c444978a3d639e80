import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

/**
 * Writes package.json and package-lock.json into a folder, without what only development needs: `npm ci` there installs what the
 * image and the Debian package run with, in exactly the versions that were tested. `npm ci --omit=dev` would keep TypeScript,
 * because one of the packages names it as an optional peer.
 *
 *   node scripts/release/runtime.ts FOLDER
 */
export function writeRuntime(folder: string): void {
  const root = join(import.meta.dirname, '../..');
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  for (const name of ['devDependencies', 'scripts', 'files']) delete manifest[name];
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  copyFileSync(join(root, 'package-lock.json'), join(folder, 'package-lock.json'));
  // npm drops from the lock what nobody needs any more. Nothing is downloaded for that.
  const flags = ['--package-lock-only', '--ignore-scripts', '--offline', '--no-audit', '--no-fund'];
  execFileSync('npm', ['install', ...flags], { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
  rmSync(join(folder, 'node_modules'), { recursive: true, force: true });
}

const [, program = '', folder] = process.argv;
if (resolve(program) === import.meta.filename) {
  if (folder === undefined) throw new Error('usage: node scripts/release/runtime.ts FOLDER');
  writeRuntime(folder);
}
