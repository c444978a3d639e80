import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bundle } from '../../../scripts/bundle.ts';

const ROOT = join(import.meta.dirname, '../../..');

/** A commit id that no checkout has, which identifies this build. */
const BUILD = { commit: 'c0ffee', built: '2026-11-20T10:00:00Z' };

/** Builds leadsync into a folder, with this checkout's packages, as an installation has it. Returns the file to start. */
export async function builtProgram(folder: string): Promise<string> {
  mkdirSync(join(folder, 'dist'), { recursive: true });
  await bundle(join(folder, 'dist'));
  writeFileSync(join(folder, 'dist/build.json'), JSON.stringify(BUILD));
  for (const name of ['bin', 'package.json'])
    cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  cpSync(join(ROOT, 'src/admin/assets'), join(folder, 'dist/admin/assets'), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  return join(folder, 'bin/leadsync.js');
}
