import { execFileSync } from 'node:child_process';
import { cpSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { newFolder, type Workbench } from './workbench.ts';

const ROOT = join(import.meta.dirname, '..');

/** Builds leadsync and puts it into a folder of its own, as an installation has it. Returns the file to start. @throws Error */
export async function installedProgram(workbench: Workbench): Promise<string> {
  const folder = newFolder(workbench);
  execFileSync(process.execPath, [join(ROOT, 'scripts/build.ts')], { cwd: ROOT, stdio: 'ignore' });
  for (const name of ['bin', 'dist', 'package.json'])
    cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  return join(folder, 'bin', 'leadsync.js');
}
