import type { LogStream } from '../../telemetry/logger.ts';

const SHOW_MS = 200;

/** Shows the progress of an export or a recovery, in one line that it overwrites. Shows nothing without a terminal. */
export class RowProgress {
  readonly #stream: LogStream;
  readonly #startMs = performance.now();
  readonly #tables = new Map<string, number>();
  #shownMs = 0;
  #line = false;

  constructor(stream: LogStream) {
    this.#stream = stream;
  }

  /** Shows a step whose progress is not counted in rows. */
  readonly say = (doing: string): void => {
    if (this.#stream.isTTY === true) this.#show(doing);
  };

  /** Sets the number of rows of a table that were processed so far. `done` says how, for display: `written`, `sorted` or `copied`. */
  readonly reportProgress = (table: string, rows: number, done: string): void => {
    this.#tables.set(table, rows);
    const now = performance.now();
    if (this.#stream.isTTY !== true || now - this.#shownMs < SHOW_MS) return;
    this.#shownMs = now;
    const all = this.#tables.values().reduce((sum, one) => sum + one, 0);
    const rate = Math.round((all / (now - this.#startMs)) * 1000);
    this.#show(`${table}: ${rows} rows ${done}, ${rate} rows/s`);
  };

  /** Clears the line. */
  readonly end = (): void => {
    this.#clear();
    this.#line = false;
  };

  /** Returns a line with the number of rows for each table. */
  summary(): string {
    const width = Math.max(...[...this.#tables.keys()].map((name) => name.length), 0);
    return [...this.#tables].map(([name, rows]) => `${name.padEnd(width)}  ${rows} rows\n`).join('');
  }

  #show(line: string): void {
    this.#clear();
    this.#stream.write(line);
    this.#line = true;
  }

  #clear(): void {
    if (this.#line) this.#stream.write('\r\u001b[K');
  }
}
