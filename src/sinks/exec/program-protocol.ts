/** What a program gets on its standard input, and how it acknowledges that it has stored the leads. */
export interface ProgramProtocol {
  /** Yields the lines, without line breaks. Creates each line only when it is requested. */
  lines(): Iterable<string>;
  /** What the program must write to standard output after the leads; undefined if its exit code is enough. */
  readonly wants: Acknowledgement | undefined;
}

/** An acknowledgement that a program writes to standard output. */
export interface Acknowledgement {
  /** Reads a line of standard output. */
  read(line: string): void;
  /** Whether the program has acknowledged the leads. */
  readonly isGiven: boolean;
}

/** How leads are written. */
export interface ProtocolForm {
  readonly ids: 'number' | 'string';
  /** Whether the lead is that of a test event. */
  readonly isTest: boolean;
}
