import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Makes the demo's folder anew. @returns false when another demo is using it, and is left alone */
export function freshFolder(folder: string): boolean {
  const mark = join(folder, 'demo.pid');
  if (isRunning(mark)) return false;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(mark, String(process.pid));
  return true;
}

/** Writes down what the demo's configuration takes from the environment: scripts/bootstrap.mjs gives it to commands in other terminals. */
export function writeEnvironment(folder: string, variables: Readonly<Record<string, string>>): void {
  const lines = Object.entries(variables).map(([name, value]) => `${name}=${value}\n`);
  writeFileSync(join(folder, 'environment'), lines.join(''), { mode: 0o600 });
}

/** Says that the demo is over; what it made stays to be looked at. */
export function releaseFolder(folder: string): void {
  rmSync(join(folder, 'demo.pid'), { force: true });
}

function isRunning(mark: string): boolean {
  try {
    process.kill(Number(readFileSync(mark, 'utf8')), 0);
    return true;
  } catch {
    // No such file, or no such process: nobody is there.
    return false;
  }
}
