/**
 * Whether the ledger of a running leadsync still owes a delivery, by its metrics; true while it does not answer. A delivery
 * that has arrived is owed until its attempt is settled, which is never where that attempt's process was killed.
 */
export async function isOwing(adminUrl: string): Promise<boolean> {
  try {
    const metrics = await (await fetch(`${adminUrl}/metrics`, { signal: AbortSignal.timeout(2_000) })).text();
    return (
      !/^leadsync_backlog_pending\{.*\} 0$/m.test(metrics) ||
      /^leadsync_backlog_pending\{.*\} [1-9]/m.test(metrics)
    );
  } catch {
    // It has only just been started.
    return true;
  }
}
