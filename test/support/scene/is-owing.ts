/**
 * Whether a running leadsync still owes a delivery, according to its metrics; true while it does not answer. A delivery that arrived stays
 * owed until its attempt is settled, which never happens if the process that made the attempt was killed.
 */
export async function isOwing(adminUrl: string): Promise<boolean> {
  return (await countOwed(adminUrl)) !== 0;
}

/** Returns how many deliveries a running leadsync still owes, according to its metrics; undefined while it does not answer. */
export async function countOwed(adminUrl: string): Promise<number | undefined> {
  try {
    const metrics = await (await fetch(`${adminUrl}/metrics`, { signal: AbortSignal.timeout(2_000) })).text();
    const backlogs = [...metrics.matchAll(/^leadsync_backlog_pending\{.*\} (\d+)$/gm)];
    return backlogs.length === 0 ? undefined : backlogs.reduce((sum, [, count]) => sum + Number(count), 0);
  } catch {
    // The daemon has only just started.
    return undefined;
  }
}
