import { RETAINED, type RetainedKind, type Retention } from '../../leads/retention.ts';
import type { LedgerControl } from '../../ledger/contract/ledger-control.ts';
import type { LedgerUpkeep } from '../../ledger/contract/ledger-upkeep.ts';
import type { Clock } from '../../platform/time/clock.ts';
import type { Emit } from '../../telemetry/events.ts';

const EVERY_MS = 3_600_000;
/** Duty cycle: after each part, sleep three times as long as it took, because deliveries come first. */
const REST = 3;
/** Longest life of the copy that an upgrade leaves, in ms. It is removed sooner where `retention` names a shorter time. */
const UPGRADE_COPY_MS = 7 * 24 * 3_600_000;

/** What removing works with. One event tells of a whole round; of one that removed nothing there is none. */
export interface RetainParts {
  readonly ledger: LedgerControl & LedgerUpkeep;
  readonly clock: Clock;
  readonly emit: Emit;
}

/** Removes what the configuration no longer wants to be kept, once an hour, and says what that was. */
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

/** Does so once. */
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

/** The copy holds all that the ledger held at the upgrade, so it is kept no longer than any of that. */
async function removeUpgradeCopies(retention: Retention, ledger: LedgerUpkeep, clock: Clock): Promise<void> {
  const times = RETAINED.map((kind) => retention[kind] ?? UPGRADE_COPY_MS);
  const keptMs = Math.min(UPGRADE_COPY_MS, ...times);
  await ledger.removeUpgradeCopies(new Date(clock.now().getTime() - keptMs));
}
