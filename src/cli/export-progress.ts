import type { HowFar } from '../exports/export.ts';
import type { LogStream } from '../telemetry/logger.ts';

const SHOW_MS = 200;

/** How far an export is: on a terminal one line that is written over; elsewhere nothing until the end. */
export class ExportProgress {
  readonly #stream: LogStream;
  readonly #startMs = performance.now();
  readonly #tables = new Map<string, number>();
  #shownMs = 0;
  #line = false;

  constructor(stream: LogStream) {
    this.#stream = stream;
  }

  /** Takes how many rows of a table were written so far, or sorted by their days. */
  readonly howFar: HowFar = (table, rows, done) => {
    this.#tables.set(table, rows);
    const now = performance.now();
    if (this.#stream.isTTY !== true || now - this.#shownMs < SHOW_MS) return;
    this.#shownMs = now;
    const all = this.#tables.values().reduce((sum, one) => sum + one, 0);
    const rate = Math.round((all / (now - this.#startMs)) * 1000);
    this.#clear();
    this.#stream.write(`${table}: ${rows} rows ${done}, ${rate} rows/s`);
    this.#line = true;
  };

  /** Takes the line away. */
  end(): void {
    this.#clear();
    this.#line = false;
  }

  /** A line for each table. */
  summary(): string {
    const width = Math.max(...[...this.#tables.keys()].map((name) => name.length), 0);
    return [...this.#tables].map(([name, rows]) => `${name.padEnd(width)}  ${rows} rows\n`).join('');
  }

  #clear(): void {
    if (this.#line) this.#stream.write('\r\u001b[K');
  }
}
