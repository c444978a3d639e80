import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

/**
 * Writes package.json and package-lock.json into a folder, without the packages that only development needs. `npm ci` in that folder
 * installs the packages of the image and the Debian package, in exactly the versions that were tested. `npm ci --omit=dev` would also
 * install TypeScript, because it is an optional peer dependency of another package.
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
  // npm removes the unneeded packages from the lock file, without a download.
  const flags = ['--package-lock-only', '--ignore-scripts', '--offline', '--no-audit', '--no-fund'];
  execFileSync('npm', ['install', ...flags], { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
  rmSync(join(folder, 'node_modules'), { recursive: true, force: true });
}

const [, program = '', folder] = process.argv;
if (resolve(program) === import.meta.filename) {
  if (folder === undefined) throw new Error('usage: node scripts/release/runtime.ts FOLDER');
  writeRuntime(folder);
}
