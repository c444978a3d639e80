import { randomUUID } from 'node:crypto';
import { DestinationError } from '../alerts/destination.ts';
import type { Installation } from '../alerts/notice.ts';
import { openDestination } from '../alerts/options.ts';
import type { Config } from '../config/contract/config.ts';
import type { Clock } from '../platform/time/clock.ts';

/** Result of one test message. */
export interface AlertTestResult {
  readonly name: string;
  readonly ok: boolean;
  readonly detail: string;
  readonly hint: string;
}

/**
 * Sends a message marked as a test to one destination. If the destination does not accept the message, returns that as the result and does
 * not reject.
 */
export async function testAlert(
  name: string,
  to: Config['alerts']['to'][string],
  from: Installation,
  clock: Clock,
  signal: AbortSignal,
): Promise<AlertTestResult> {
  try {
    const message = { id: `alert_${randomUUID()}`, at: clock.now(), from, test: true, notices: [] };
    await openDestination(to, clock).send(message, signal);
    return { name, ok: true, detail: `A test message was sent by ${to.type} and accepted.`, hint: '' };
  } catch (error) {
    if (!(error instanceof DestinationError)) throw error;
    return { name, ok: false, detail: error.message, hint: error.hint };
  }
}
