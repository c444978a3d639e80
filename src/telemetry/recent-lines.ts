import type { LogLevel } from './event-kind.ts';

/** A line that the log has written. */
export interface RecentLine {
  readonly at: Date;
  readonly level: LogLevel;
  /** Type of the event; `fault` for an internal error. */
  readonly event: string;
  readonly message: string;
}

/** Keeps the last lines of the log in memory, for the page that shows them. */
export class RecentLines {
  readonly #max: number;
  readonly #lines: RecentLine[] = [];

  /** @param max maximum number of lines to keep */
  constructor(max: number) {
    this.#max = max;
  }

  add(line: RecentLine): void {
    this.#lines.push(line);
    if (this.#lines.length > this.#max) this.#lines.shift();
  }

  /** Returns the lines, newest first. */
  newestFirst(): readonly RecentLine[] {
    return this.#lines.toReversed();
  }
}
