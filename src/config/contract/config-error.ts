import { printable } from '../../platform/text/printable.ts';

/** One fault in a configuration. Contains no secret. */
export interface Fault {
  /** The file as the operator named it. */
  readonly file: string;
  /** 1-based; 0 if the fault concerns the whole file. */
  readonly line: number;
  /** 1-based, in UTF-16 code units as editors count; 0 if the fault concerns the whole file. */
  readonly column: number;
  /** The path of the option: `sinks.crm.timeout`; empty for the whole configuration. */
  readonly path: string;
  /** What is wrong. */
  readonly message: string;
  /** The next step; empty if the message already says it. */
  readonly hint: string;
}

/** The configuration is invalid and was not applied. Holds every fault, in file order. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly faults: readonly Fault[];
  /** The secret files that the readable parts of the configuration name, possibly including files that are missing. */
  readonly secretFiles: readonly string[];
  /** Whether the system refused to read the file, which may pass without a change of the file. */
  readonly isUnread: boolean;

  constructor(faults: readonly Fault[], secretFiles: readonly string[] = [], isUnread = false) {
    super(faults.map(formatFault).join('\n'));
    this.faults = faults;
    this.secretFiles = secretFiles;
    this.isUnread = isUnread;
  }
}

/** Formats a fault as one line: `file:line:column: path: message; hint`. */
export function formatFault(fault: Fault): string {
  const place = fault.line === 0 ? fault.file : `${fault.file}:${fault.line}:${fault.column}`;
  const where = fault.path === '' ? '' : `${fault.path}: `;
  const next = fault.hint === '' ? '' : `; ${fault.hint}`;
  // Keys and messages may come from the file, so terminal control characters are made visible.
  return printable(`${place}: ${where}${fault.message}${next}`);
}
