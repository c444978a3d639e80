/** The exit codes of every command; those above 63 are named after BSD's sysexits(3). */
export const ExitCode = {
  done: 0,
  notDone: 1,
  usage: 2,
  /** EX_UNAVAILABLE: something could not be reached. */
  unreachable: 69,
  /** EX_TEMPFAIL: another leadsync holds the data directory. */
  held: 75,
  /** EX_CONFIG: the configuration is wrong. */
  configuration: 78,
} as const;
