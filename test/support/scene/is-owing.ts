/**
 * Whether a running leadsync still owes a delivery, according to its metrics; true while it does not answer. A delivery that arrived stays
 * owed until its attempt is settled, which never happens if the process that made the attempt was killed.
 */
export async function isOwing(adminUrl: string): Promise<boolean> {
  try {
    const metrics = await (await fetch(`${adminUrl}/metrics`, { signal: AbortSignal.timeout(2_000) })).text();
    return (
      !/^leadsync_backlog_pending\{.*\} 0$/m.test(metrics) ||
      /^leadsync_backlog_pending\{.*\} [1-9]/m.test(metrics)
    );
  } catch {
    // The daemon has only just started.
    return true;
  }
}
