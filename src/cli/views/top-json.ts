import type { LedgerConfig } from '../../config/contract/config.ts';
import type { LedgerStatus } from '../../ledger/contract/status-rows.ts';
import type { ExportView } from '../../status/export-view.ts';
import { statusJson } from '../../status/status-json.ts';
import type { Throughput } from './throughput.ts';

/** Returns the JSON of `top`: the status, with the throughput of each sink. Absent values are null. */
export function topJson(
  config: LedgerConfig,
  status: LedgerStatus,
  exports: readonly ExportView[],
  throughput: ReadonlyMap<string, Throughput>,
) {
  const shown = statusJson(config, status, exports);
  return {
    ...shown,
    sinks: shown.sinks.map((one) => ({ ...one, ...throughputJson(throughput.get(one.sink)) })),
  };
}

function throughputJson(throughput: Throughput | undefined) {
  return {
    delivered_per_minute: throughput?.deliveredPerMinute ?? 0,
    failed_per_minute: throughput?.failedPerMinute ?? 0,
    speed_p50_seconds: seconds(throughput?.speedP50Ms),
    speed_p95_seconds: seconds(throughput?.speedP95Ms),
  };
}

function seconds(ms: number | undefined): number | null {
  return ms === undefined ? null : ms / 1_000;
}
