import type { LedgerUpkeep } from '../../ledger/contract/ledger-upkeep.ts';
import type { Emit } from '../../telemetry/events.ts';

/** Tells what opening the ledger found and changed: an upgrade, or that it was restored. */
export function tellOpening({ opening }: Pick<LedgerUpkeep, 'opening'>, dataDir: string, emit: Emit): void {
  const { upgraded, isCopy } = opening;
  if (upgraded) {
    const { path: copy, skipped: reason } = { path: undefined, skipped: undefined, ...upgraded.copy };
    emit({ type: 'ledger-upgraded', fromSchema: upgraded.from, toSchema: upgraded.to, copy, reason });
  }
  if (isCopy) emit({ type: 'ledger-restored', dataDir });
}
