import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Empties or creates the folder of the demo. Returns false, without a change, if another demo uses it. */
export function freshFolder(folder: string): boolean {
  const pidFile = join(folder, 'demo.pid');
  if (isRunning(pidFile)) return false;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(pidFile, String(process.pid));
  return true;
}

/** Stores the environment variables of the demo's configuration. scripts/bootstrap.mjs sets them for commands in other terminals. */
export function writeEnvironment(folder: string, variables: Readonly<Record<string, string>>): void {
  const lines = Object.entries(variables).map(([name, value]) => `${name}=${value}\n`);
  writeFileSync(join(folder, 'environment'), lines.join(''), { mode: 0o600 });
}

/** Marks the folder as unused. The ledger and the files stay. */
export function releaseFolder(folder: string): void {
  rmSync(join(folder, 'demo.pid'), { force: true });
}

function isRunning(pidFile: string): boolean {
  try {
    process.kill(Number(readFileSync(pidFile, 'utf8')), 0);
    return true;
  } catch {
    // There is no such file or no such process.
    return false;
  }
}
