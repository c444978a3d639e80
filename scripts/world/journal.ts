import { clockTime } from './timetable.ts';

/** Prints what happens, each line with the time since the start. */
export class Journal {
  #startedMs = performance.now();

  /** When the clock was started, in ms of the process. */
  get startedMs(): number {
    return this.#startedMs;
  }

  /** Starts the clock anew. */
  restart(): void {
    this.#startedMs = performance.now();
  }

  /** Prints a line: `  12:30  alert    begun: sink_held (crm)`. */
  note(kind: 'world' | 'problem' | 'alert' | 'picture', text: string): void {
    const minutes = (performance.now() - this.#startedMs) / 60_000;
    process.stdout.write(`  ${clockTime(minutes).padStart(6)}  ${kind.padEnd(8)} ${text}\n`);
  }
}
