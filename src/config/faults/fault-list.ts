import { LineCounter } from 'yaml';
import { ConfigError, type Fault } from '../contract/config-error.ts';

/** A path in the configuration: map keys and 0-based list indexes. */
export type Path = readonly PropertyKey[];

/** Collects the faults of one file, and converts offsets to lines and columns. */
export class FaultList {
  /** The starts of the lines, which the YAML parser fills in. */
  readonly lines = new LineCounter();
  readonly #file: string;
  readonly #found = new Map<string, Fault & { readonly offset: number }>();

  constructor(file: string) {
    this.#file = file;
  }

  /** Adds a fault at an offset in the text. Replaces an earlier fault with the same message at the same offset. */
  add(offset: number, path: Path, message: string, hint = ''): void {
    const { line, col } = this.lines.linePos(offset);
    const fault = { file: this.#file, line, column: col, path: printPath(path), message, hint, offset };
    this.#found.set(`${offset} ${message}`, fault);
  }

  /** Adds a fault that concerns the whole file. */
  addWhole(message: string, hint: string): void {
    const fault = { file: this.#file, line: 0, column: 0, path: '', message, hint, offset: 0 };
    this.#found.set(message, fault);
  }

  /** Whether there is no fault so far. */
  get isEmpty(): boolean {
    return this.#found.size === 0;
  }

  /** The faults, in file order. */
  get faults(): readonly Fault[] {
    const inOrder = [...this.#found.values()].sort((one, other) => one.offset - other.offset);
    return inOrder.map(({ offset: _, ...fault }) => fault);
  }

  /** @throws ConfigError if there is any fault */
  throwIfAny(secretFiles: readonly string[] = []): void {
    if (this.#found.size > 0) throw new ConfigError(this.faults, secretFiles);
  }
}

/** Returns a path as text: `sinks.crm.schedule[0]`. */
export function printPath(path: Path): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === 'number') return `${text}[${part}]`;
    return text === '' ? String(part) : `${text}.${String(part)}`;
  }, '');
}
