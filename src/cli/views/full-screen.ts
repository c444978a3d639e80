import type { Surroundings } from '../shell/context.ts';

/** Another screen beside the one with the shell's lines, no cursor, and lines that do not wrap (xterm's private modes). */
const ENTER = '\u001b[?1049h\u001b[?25l\u001b[?7l';
const LEAVE = '\u001b[?7h\u001b[?25h\u001b[?1049l';
const HOME = '\u001b[H';
const REST_OF_LINE = '\u001b[K';
const REST_OF_SCREEN = '\u001b[J';
const CTRL_C = '\u0003';

/**
 * The whole terminal, taken for as long as a command runs. However the process ends, short of SIGKILL, the terminal is given back as it
 * was.
 */
export class FullScreen {
  readonly #stdout: Surroundings['stdout'];
  readonly #stdin: Surroundings['stdin'];
  readonly #leave = () => this.close();
  #open = true;

  /** `end` is called when somebody presses q or Ctrl-C or the input ends, `resize` when the terminal has another size. */
  constructor(
    { stdout, stdin }: Surroundings,
    on: { readonly end: () => void; readonly resize: () => void },
  ) {
    this.#stdout = stdout;
    this.#stdin = stdin;
    process.once('exit', this.#leave); // also after an error that nobody has caught
    stdout.write(ENTER);
    stdout.on?.('resize', on.resize);
    stdin.setRawMode?.(true);
    stdin.on('data', (keys: Buffer | string) => {
      if (['q', 'Q', CTRL_C].some((key) => String(keys).includes(key))) on.end();
    });
    stdin.once('end', on.end);
  }

  get columns(): number {
    return this.#stdout.columns || 80;
  }

  get rows(): number {
    return this.#stdout.rows || 24;
  }

  /** Shows lines in place of those before; what does not fit below is left out. */
  show(lines: readonly string[]): void {
    if (!this.#open) return;
    const fitting = lines.length <= this.rows ? lines : [...lines.slice(0, this.rows - 1), '…'];
    const cut = fitting.map((line) => [...line].slice(0, this.columns).join('') + REST_OF_LINE);
    this.#stdout.write(HOME + cut.join('\r\n') + REST_OF_SCREEN);
  }

  close(): void {
    if (!this.#open) return;
    this.#open = false;
    process.off('exit', this.#leave);
    this.#stdin.setRawMode?.(false);
    this.#stdin.pause();
    this.#stdout.write(LEAVE);
  }
}
