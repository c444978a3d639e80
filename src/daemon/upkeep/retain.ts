import { RETAINED, type RetainedKind, type Retention } from '../../leads/retention.ts';
import type { LedgerControl } from '../../ledger/contract/ledger-control.ts';
import type { LedgerUpkeep } from '../../ledger/contract/ledger-upkeep.ts';
import type { Clock } from '../../platform/time/clock.ts';
import type { Emit } from '../../telemetry/events.ts';

const EVERY_MS = 3_600_000;
/**
 * Ratio of rest to work: after each part, `retainOnce` sleeps for this many times as long as the part took, because deliveries come first.
 */
const REST = 3;
/** Maximum age of the ledger copy that an upgrade leaves behind, in ms. A shorter `retention` removes it sooner. */
const UPGRADE_COPY_MS = 7 * 24 * 3_600_000;

/** What `retain` works with. Each round that removes something emits one event. */
export interface RetainParts {
  readonly ledger: LedgerControl & LedgerUpkeep;
  readonly clock: Clock;
  readonly emit: Emit;
}

/** Applies the retention once an hour, until the signal aborts. */
export async function retain(
  retentionNow: () => Retention,
  parts: RetainParts,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await retainOnce(retentionNow(), parts, signal);
    await parts.clock.sleep(EVERY_MS, signal);
  }
}

/** Removes everything older than the retention allows, once, and reports how much it removed. */
export async function retainOnce(
  retention: Retention,
  { ledger, clock, emit }: RetainParts,
  signal: AbortSignal,
): Promise<void> {
  const removed: Record<RetainedKind, number> = { leads: 0, versions: 0, attempts: 0, rejected_leads: 0 };
  for (const kind of RETAINED) {
    const keptMs = retention[kind];
    if (keptMs === undefined) continue;
    const before = new Date(clock.now().getTime() - keptMs);
    for (let after: number | undefined = 0; after !== undefined && !signal.aborted; ) {
      const startMs = clock.monotonicMs();
      const part = await ledger.removeOld(kind, before, after);
      removed[kind] += part.removed;
      after = part.next;
      if (after !== undefined) await clock.sleep(REST * (clock.monotonicMs() - startMs), signal);
    }
  }
  await removeUpgradeCopies(retention, ledger, clock);
  const { rejected_leads: rejected, ...others } = removed;
  if (Object.values(removed).some((count) => count > 0)) emit({ type: 'retained', ...others, rejected });
}

/** Removes old upgrade copies. A copy contains data of every kind, so the shortest retention applies to it. */
async function removeUpgradeCopies(retention: Retention, ledger: LedgerUpkeep, clock: Clock): Promise<void> {
  const times = RETAINED.map((kind) => retention[kind] ?? UPGRADE_COPY_MS);
  const keptMs = Math.min(UPGRADE_COPY_MS, ...times);
  await ledger.removeUpgradeCopies(new Date(clock.now().getTime() - keptMs));
}
