import type { LogLevel } from './event-kind.ts';

/** A line that the log has written. */
export interface RecentLine {
  readonly at: Date;
  readonly level: LogLevel;
  /** Type of the event; `fault` for an internal error. */
  readonly event: string;
  /** The source and the sink that the event is about; undefined if there is none. */
  readonly source?: string | undefined;
  readonly sink?: string | undefined;
  readonly message: string;
}

type Numbered = RecentLine & { readonly no: number };

/**
 * Keeps the last lines of the log in memory, for the page that shows them. Keeps warnings and errors apart from other lines, so that routine lines do
 * not push out the start of an incident.
 */
export class RecentLines {
  readonly #max: number;
  readonly #routine: Numbered[] = [];
  readonly #problems: Numbered[] = [];
  #count = 0;

  /** @param max maximum number of warnings and errors to keep, and of other lines */
  constructor(max: number) {
    this.#max = max;
  }

  add(line: RecentLine): void {
    const lines = line.level === 'warn' || line.level === 'error' ? this.#problems : this.#routine;
    this.#count += 1;
    lines.push({ ...line, no: this.#count });
    if (lines.length > this.#max) lines.shift();
  }

  /** Returns the lines, newest first. */
  newestFirst(): readonly RecentLine[] {
    const lines = [...this.#routine, ...this.#problems].sort((one, other) => other.no - one.no);
    return lines.map(({ no: _, ...line }) => line);
  }
}
