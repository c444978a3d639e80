import { HEALTHY, type SinkHealth } from '../../../leads/sink-health.ts';
import { blanked } from '../../../platform/text/printable.ts';
import type { DiscardNote } from '../../contract/ledger-control.ts';

/** Returns the reason of a delivery that an operator discards. `before` is the reason for which it was dead. */
export function discardReason({ by, note }: DiscardNote, before: string | null): string {
  const said = blanked(`discarded by ${by}: ${note}${/[.!?]$/.test(note) ? '' : '.'}`);
  return before === null ? said : `${said} Dead before: ${before}`;
}

/**
 * Returns the health of a sink after an operator has resumed it. The next probe of a held sink is due now. Only an answer from the destination
 * ends a hold. Otherwise, a destination that is still unavailable would get the whole backlog. If refusals caused the hold, another refusal
 * also ends it. Otherwise, leads that the destination rightly refuses would hold the sink permanently.
 */
export function resumed(health: SinkHealth, now: Date): SinkHealth {
  const { heldSince, lastDeliveredAt, places, quota } = health;
  const after = heldSince
    ? {
        ...health,
        pausedSince: undefined,
        pausedReason: undefined,
        probeAt: now,
        refusals: 0,
        refusingSince: undefined,
      }
    : { ...HEALTHY, lastDeliveredAt, places, quota };
  return { ...after, renewedAt: now };
}
