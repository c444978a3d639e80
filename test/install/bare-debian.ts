import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { installProgram } from '../deploy/debian-tools.ts';

/** Kept beside the packages of npm, so that it is made once. */
const ARCHIVE = join(import.meta.dirname, '../../node_modules/.cache/leadsync-test/bare-debian.tar');

/** Unpacks a minimal Debian, where nothing of this project was ever installed, into a folder. Needs root. @throws Error */
export function unpackBareDebian(folder: string): void {
  if (!existsSync(ARCHIVE)) makeArchive(folder);
  else execFileSync('tar', ['-xpf', ARCHIVE, '-C', folder], { stdio: 'pipe' });
}

function makeArchive(folder: string): void {
  if (process.getuid?.() !== 0) throw new Error('Installing into a bare Debian needs root.');
  installProgram('debootstrap');
  execFileSync('debootstrap', ['--variant=minbase', 'bookworm', folder], { stdio: 'pipe' });
  rmSync(join(folder, 'var/cache/apt/archives'), { recursive: true });
  mkdirSync(join(ARCHIVE, '..'), { recursive: true });
  execFileSync('tar', ['-cpf', ARCHIVE, '-C', folder, '.'], { stdio: 'pipe' });
}
