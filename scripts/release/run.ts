import { execFileSync } from 'node:child_process';

/** Runs a program to its end and returns what it printed; its messages go to standard error. @throws Error when it fails or is missing */
export function run(program: string, args: readonly string[], cwd: string): string {
  return execFileSync(program, args, {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    maxBuffer: 64 * 1024 ** 2,
  });
}
