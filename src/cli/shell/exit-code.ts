/** The exit codes of all commands. Codes above 63 follow BSD's sysexits(3). */
export const ExitCode = {
  done: 0,
  notDone: 1,
  usage: 2,
  /** EX_UNAVAILABLE: something could not be reached. */
  unreachable: 69,
  /** EX_TEMPFAIL: another leadsync holds the data directory, or works with the ledger. */
  inUse: 75,
  /** EX_CONFIG: the configuration is invalid. */
  configuration: 78,
} as const;

/** The meaning of each exit code, for help and the manual page. */
export const EXIT_CODE_MEANINGS: ReadonlyMap<number, string> = new Map([
  [ExitCode.done, 'success'],
  [ExitCode.notDone, 'failure'],
  [ExitCode.usage, 'usage error'],
  [ExitCode.unreachable, 'something could not be reached'],
  [ExitCode.inUse, 'another leadsync holds the data directory or works with the ledger'],
  [ExitCode.configuration, 'invalid configuration'],
]);
