import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The folder that a run leaves behind, with a mark while the run uses it. */
export class ShowcaseFolder {
  readonly path: string;
  readonly #pidFile: string;

  /** `name` is that of the run, `demo` or `world`. */
  constructor(path: string, name: string) {
    this.path = path;
    this.#pidFile = join(path, `${name}.pid`);
  }

  /** Empties or creates the folder. Returns false, without a change, if another run uses it. */
  take(): boolean {
    if (isRunning(this.#pidFile)) return false;
    rmSync(this.path, { recursive: true, force: true });
    mkdirSync(this.path, { recursive: true });
    writeFileSync(this.#pidFile, String(process.pid));
    return true;
  }

  /** Stores the environment variables of the configuration. scripts/bootstrap.mjs sets them for commands in other terminals. */
  writeEnvironment(variables: Readonly<Record<string, string>>): void {
    const lines = Object.entries(variables).map(([name, value]) => `${name}=${value}\n`);
    writeFileSync(join(this.path, 'environment'), lines.join(''), { mode: 0o600 });
  }

  /** Marks the folder as unused. The ledger and the files stay. */
  release(): void {
    rmSync(this.#pidFile, { force: true });
  }
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
