import { execFileSync } from 'node:child_process';

/** Runs a program and returns its standard output; its standard error is passed on. @throws Error if it fails or is missing */
export function run(program: string, args: readonly string[], cwd: string): string {
  return execFileSync(program, args, {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    maxBuffer: 64 * 1024 ** 2,
  });
}
