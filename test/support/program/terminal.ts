import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { onTestFinished } from 'vitest';
import { tempDir } from '../files/temp-dir.ts';
import { until } from '../time/until.ts';

const MAIN = fileURLToPath(new URL('../../../src/main.ts', import.meta.url));
/** The sequence with which a full-screen program begins a frame. */
const HOME = '\u001b[H';
/** The sequence that ends a frame. */
const REST_OF_SCREEN = '\u001b[J';

/** A command on its own pseudo-terminal, which `script` of util-linux creates. */
export class Terminal {
  /** Everything written to it, as a terminal receives it. */
  written = '';
  readonly #process: ChildProcess;
  readonly #tty: string;
  readonly ended: Promise<number | null>;

  private constructor(process: ChildProcess, tty: string) {
    this.#process = process;
    this.#tty = tty;
    process.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.written += text;
    });
    this.ended = new Promise((resolve) => process.on('close', resolve));
  }

  /** Runs `leadsync ARGUMENT …`; the process ends with the test. */
  static async run(
    args: readonly string[],
    {
      cwd = tempDir(),
      columns = 80,
      rows = 24,
      env = {},
    }: { cwd?: string; columns?: number; rows?: number; env?: NodeJS.ProcessEnv } = {},
  ): Promise<Terminal> {
    const tty = join(tempDir(), 'tty');
    const command = [process.execPath, MAIN, ...args].map((word) => `'${word}'`).join(' ');
    const line = `tty > '${tty}'; stty cols ${columns} rows ${rows}; exec ${command}`;
    const child = spawn('script', ['-qefc', line, '/dev/null'], {
      cwd,
      env: { ...process.env, ...env },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    const terminal = new Terminal(child, tty);
    await until('there is a terminal', () => existsSync(tty) && readFileSync(tty, 'utf8') !== '');
    return terminal;
  }

  /** The output without control sequences. */
  get text(): string {
    return stripVTControlCharacters(this.written).replaceAll('\r', '');
  }

  /** The last complete frame of a full-screen program, line by line. */
  get picture(): string[] {
    const pictures = this.written.split(HOME).filter((text) => text.includes(REST_OF_SCREEN));
    return stripVTControlCharacters(pictures.at(-1) ?? '').split(/\r*\n/);
  }

  type(keys: string): void {
    this.#process.stdin?.write(keys);
  }

  /** Resizes the terminal, as if a user dragged the corner of the window. */
  resize(columns: number, rows: number): void {
    const tty = readFileSync(this.#tty, 'utf8').trim();
    execFileSync('stty', ['-F', tty, 'cols', String(columns), 'rows', String(rows)]);
  }
}
