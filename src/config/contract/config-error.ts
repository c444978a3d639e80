import { printable } from '../../platform/text/printable.ts';

/** One thing that is wrong with a configuration. Holds no value from the file or the environment. */
export interface Fault {
  /** The file as the operator named it. */
  readonly file: string;
  /** 1-based; 0 when the fault is the file as a whole. */
  readonly line: number;
  /** 1-based, in UTF-16 code units as editors count; 0 when the fault is the file as a whole. */
  readonly column: number;
  /** Where in the configuration: `sinks.crm.timeout`; empty for the configuration as a whole. */
  readonly path: string;
  /** What is wrong. */
  readonly message: string;
  /** What to do; empty where the message says it already. */
  readonly hint: string;
}

/** The configuration is wrong, and was not put in force. Holds every fault that was found, in the order of the file. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly faults: readonly Fault[];
  /** Where its secrets are to come from, as far as it could be read: one of these files may be what is missing. */
  readonly secretFiles: readonly string[];

  constructor(faults: readonly Fault[], secretFiles: readonly string[] = []) {
    super(faults.map(formatFault).join('\n'));
    this.faults = faults;
    this.secretFiles = secretFiles;
  }
}

/** A fault in one line: `file:line:column: where: what is wrong; what to do`. */
export function formatFault(fault: Fault): string {
  const place = fault.line === 0 ? fault.file : `${fault.file}:${fault.line}:${fault.column}`;
  const where = fault.path === '' ? '' : `${fault.path}: `;
  const next = fault.hint === '' ? '' : `; ${fault.hint}`;
  // Keys and messages may come from the file: what a terminal would obey is shown, not obeyed.
  return printable(`${place}: ${where}${fault.message}${next}`);
}
