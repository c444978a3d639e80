/** Whether outages last as long as the list of faults says, and not only seconds: for a run by command. */
export const LONG = process.env['LEADSYNC_FAULTS_LONG'] === '1';

/** How long something lasts in this run, in ms. */
export function lasting({ seconds, long }: { seconds: number; long: number }): number {
  return (LONG ? long : seconds) * 1_000;
}
