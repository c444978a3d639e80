/** Whether outages last as long as docs/reliability.md says, rather than seconds: for runs on request. */
export const LONG = process.env['LEADSYNC_FAULTS_LONG'] === '1';

/** Returns how long an outage lasts in this run, in ms. */
export function lasting({ seconds, long }: { seconds: number; long: number }): number {
  return (LONG ? long : seconds) * 1_000;
}
