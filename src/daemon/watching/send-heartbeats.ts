import { Heartbeats } from '../../alerts/heartbeat.ts';
import { nextBeat } from '../../platform/time/aligned-sleep.ts';
import type { Parts } from '../start/parts.ts';

/** Interval for checking whether a heartbeat is due, in ms. */
const CHECK_INTERVAL_MS = 1_000;

/** Sends the heartbeats of `alerts.heartbeat` while leadsync is ready, until the signal aborts. */
export async function sendHeartbeats(
  { clock, current, telemetry }: Parts,
  unready: () => Promise<readonly string[]>,
  signal: AbortSignal,
): Promise<void> {
  const heartbeats = new Heartbeats(clock, telemetry.emit);
  while (!signal.aborted) {
    const { heartbeat } = current.config.alerts;
    if (heartbeat && heartbeats.isDue(heartbeat) && (await unready()).length === 0)
      await heartbeats.send(heartbeat, signal);
    await nextBeat(clock, CHECK_INTERVAL_MS, signal);
  }
}
