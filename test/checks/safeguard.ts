/** One thing that the promise rests on, and how it is taken away for a moment. */
export interface Safeguard {
  readonly name: string;
  /** What could happen without it. */
  readonly without: string;
  readonly file: string;
  /** The text that stands exactly once in the file, and what is put in its place. */
  readonly text: string;
  readonly instead: string;
  /** Where at least one test must then fail: files and folders, run in this order until one does, so the quickest comes first. */
  readonly tests: readonly string[];
}
