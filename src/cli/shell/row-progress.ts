import type { LogStream } from '../../telemetry/logger.ts';

const SHOW_MS = 200;

/** Shows how far an export or a recovery is: on a terminal in one line that is written over, elsewhere nowhere. */
export class RowProgress {
  readonly #stream: LogStream;
  readonly #startMs = performance.now();
  readonly #tables = new Map<string, number>();
  #shownMs = 0;
  #line = false;

  constructor(stream: LogStream) {
    this.#stream = stream;
  }

  /** Says what is done before or after the rows. */
  readonly say = (doing: string): void => {
    if (this.#stream.isTTY === true) this.#show(doing);
  };

  /** Takes how many rows of a table are `done` so far: written, sorted by their days, copied. */
  readonly howFar = (table: string, rows: number, done: string): void => {
    this.#tables.set(table, rows);
    const now = performance.now();
    if (this.#stream.isTTY !== true || now - this.#shownMs < SHOW_MS) return;
    this.#shownMs = now;
    const all = this.#tables.values().reduce((sum, one) => sum + one, 0);
    const rate = Math.round((all / (now - this.#startMs)) * 1000);
    this.#show(`${table}: ${rows} rows ${done}, ${rate} rows/s`);
  };

  /** Takes the line away. */
  readonly end = (): void => {
    this.#clear();
    this.#line = false;
  };

  /** A line for each table. */
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
