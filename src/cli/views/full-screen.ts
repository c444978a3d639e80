import type { Surroundings } from '../shell/context.ts';

/** Switches to the alternate screen, hides the cursor, and turns line wrapping off (xterm's private modes). */
const ENTER = '\u001b[?1049h\u001b[?25l\u001b[?7l';
const LEAVE = '\u001b[?7h\u001b[?25h\u001b[?1049l';
const HOME = '\u001b[H';
const REST_OF_LINE = '\u001b[K';
const REST_OF_SCREEN = '\u001b[J';
const CTRL_C = '\u0003';
const ESCAPE = '\u001b';
/** A colour code. The group makes `split` keep it, at the odd indexes. */
const COLOUR_CODE = new RegExp(`(${ESCAPE}\\[[0-9;]*m)`);

/** Uses the whole terminal until `close`. Restores the terminal however the process ends, except after SIGKILL. */
export class FullScreen {
  readonly #stdout: Surroundings['stdout'];
  readonly #stdin: Surroundings['stdin'];
  readonly #leave = () => this.close();
  #open = true;

  /** Calls `end` when the user presses q or Ctrl-C or the input ends, and `resize` when the terminal's size changes. */
  constructor(
    { stdout, stdin }: Surroundings,
    on: { readonly end: () => void; readonly resize: () => void },
  ) {
    this.#stdout = stdout;
    this.#stdin = stdin;
    process.once('exit', this.#leave); // also after an uncaught error
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

  /** Replaces the shown lines. Cuts lines at the width of the terminal, and leaves out lines that do not fit its height. */
  show(lines: readonly string[]): void {
    if (!this.#open) return;
    const fitting = lines.length <= this.rows ? lines : [...lines.slice(0, this.rows - 1), '…'];
    const cut = fitting.map((line) => cutTo(this.columns, line) + REST_OF_LINE);
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

/** Cuts a line after `columns` characters. Keeps all colour codes, which take no room. */
function cutTo(columns: number, line: string): string {
  let room = columns;
  const parts = line.split(COLOUR_CODE).map((part, at) => {
    if (at % 2 === 1) return part;
    const kept = [...part].slice(0, room);
    room -= kept.length;
    return kept.join('');
  });
  return parts.join('');
}
