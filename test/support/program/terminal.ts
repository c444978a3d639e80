import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { onTestFinished } from 'vitest';
import { tempDir } from '../files/temp-dir.ts';
import { until } from '../time/until.ts';

const MAIN = fileURLToPath(new URL('../../../src/main.ts', import.meta.url));
/** Where a program that has the whole screen begins a picture. */
const HOME = '\u001b[H';
/** Ends a picture. */
const REST_OF_SCREEN = '\u001b[J';

/** A command at a pseudo terminal of its own, which `script` of util-linux makes. */
export class Terminal {
  /** All that was written to it, as a terminal gets it. */
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

  /** Runs `leadsync ARGUMENT …`. It is ended when the test is over. */
  static async run(
    args: readonly string[],
    { cwd = tempDir(), columns = 80, rows = 24 } = {},
  ): Promise<Terminal> {
    const tty = join(tempDir(), 'tty');
    const command = [process.execPath, MAIN, ...args].map((word) => `'${word}'`).join(' ');
    const line = `tty > '${tty}'; stty cols ${columns} rows ${rows}; exec ${command}`;
    const child = spawn('script', ['-qefc', line, '/dev/null'], { cwd, stdio: ['pipe', 'pipe', 'inherit'] });
    onTestFinished(() => void child.kill('SIGKILL'));
    const terminal = new Terminal(child, tty);
    await until('there is a terminal', () => existsSync(tty) && readFileSync(tty, 'utf8') !== '');
    return terminal;
  }

  /** What was written, without what a terminal obeys. */
  get text(): string {
    return stripVTControlCharacters(this.written).replaceAll('\r', '');
  }

  /** The last whole picture of a program that has the screen, line by line. */
  get picture(): string[] {
    const pictures = this.written.split(HOME).filter((text) => text.includes(REST_OF_SCREEN));
    return stripVTControlCharacters(pictures.at(-1) ?? '').split(/\r*\n/);
  }

  type(keys: string): void {
    this.#process.stdin?.write(keys);
  }

  /** As if somebody had dragged the corner of the window. */
  resize(columns: number, rows: number): void {
    const tty = readFileSync(this.#tty, 'utf8').trim();
    execFileSync('stty', ['-F', tty, 'cols', String(columns), 'rows', String(rows)]);
  }
}
