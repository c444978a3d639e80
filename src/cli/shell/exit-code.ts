/** The exit codes of every command; those above 63 are named after BSD's sysexits(3). */
export const ExitCode = {
  done: 0,
  notDone: 1,
  usage: 2,
  /** EX_UNAVAILABLE: something could not be reached. */
  unreachable: 69,
  /** EX_TEMPFAIL: another leadsync holds the data directory. */
  inUse: 75,
  /** EX_CONFIG: the configuration is wrong. */
  configuration: 78,
} as const;

/** What each exit code means, in words for help and the manual page. */
export const EXIT_CODE_MEANINGS: ReadonlyMap<number, string> = new Map([
  [ExitCode.done, 'done'],
  [ExitCode.notDone, 'not done'],
  [ExitCode.usage, 'wrong usage'],
  [ExitCode.unreachable, 'something could not be reached'],
  [ExitCode.inUse, 'another leadsync holds the data directory'],
  [ExitCode.configuration, 'the configuration is wrong'],
]);
