import type { LedgerConfig } from '../../config/contract/config.ts';
import type { LedgerStatus } from '../../ledger/contract/status-rows.ts';
import type { ExportView } from '../../status/export-view.ts';
import { statusJson } from '../../status/json.ts';
import type { Pace } from './pace.ts';

/** Returns what `top` shows as JSON: the status, with the throughput of each sink. Absent values are null. */
export function topJson(
  config: LedgerConfig,
  status: LedgerStatus,
  exports: readonly ExportView[],
  pace: ReadonlyMap<string, Pace>,
) {
  const shown = statusJson(config, status, exports);
  return { ...shown, sinks: shown.sinks.map((one) => ({ ...one, ...paceJson(pace.get(one.sink)) })) };
}

function paceJson(pace: Pace | undefined) {
  return {
    delivered_per_minute: pace?.deliveredPerMinute ?? 0,
    failed_per_minute: pace?.failedPerMinute ?? 0,
    speed_p50_seconds: seconds(pace?.speedP50Ms),
    speed_p95_seconds: seconds(pace?.speedP95Ms),
  };
}

function seconds(ms: number | undefined): number | null {
  return ms === undefined ? null : ms / 1_000;
}
