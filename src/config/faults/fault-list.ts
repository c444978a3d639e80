import { LineCounter } from 'yaml';
import { ConfigError, type Fault } from '../contract/config-error.ts';

/** Where something is in the configuration: keys of maps and 0-based places in lists. */
export type Path = readonly PropertyKey[];

/** Collects the faults of one file, and knows which line an offset is on. */
export class FaultList {
  /** Fed by the YAML parser. */
  readonly lines = new LineCounter();
  readonly #file: string;
  readonly #found = new Map<string, Fault & { readonly offset: number }>();

  constructor(file: string) {
    this.#file = file;
  }

  /** Adds a fault at an offset of the text; the same one at the same place is kept once. */
  add(offset: number, path: Path, message: string, hint = ''): void {
    const { line, col } = this.lines.linePos(offset);
    const fault = { file: this.#file, line, column: col, path: printPath(path), message, hint, offset };
    this.#found.set(`${offset} ${message}`, fault);
  }

  /** Adds a fault of the file as a whole. */
  addWhole(message: string, hint: string): void {
    const fault = { file: this.#file, line: 0, column: 0, path: '', message, hint, offset: 0 };
    this.#found.set(message, fault);
  }

  /** What was found, in the order of the file. */
  get faults(): readonly Fault[] {
    const inOrder = [...this.#found.values()].sort((one, other) => one.offset - other.offset);
    return inOrder.map(({ offset: _, ...fault }) => fault);
  }

  /** @throws ConfigError when there is any fault */
  throwIfAny(secretFiles: readonly string[] = []): void {
    if (this.#found.size > 0) throw new ConfigError(this.faults, secretFiles);
  }
}

/** `['sinks', 'crm', 'schedule', 0]` as `sinks.crm.schedule[0]`. */
export function printPath(path: Path): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === 'number') return `${text}[${part}]`;
    return text === '' ? String(part) : `${text}.${String(part)}`;
  }, '');
}
