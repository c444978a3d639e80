import { html } from 'htm/preact';
import { printCount } from '../../../platform/text/human-readable.ts';
import type { DeliveryRow } from '../../contract/deliveries.ts';
import type { Content } from '../parts/content.ts';

/**
 * Returns the number of attempts of a delivery and, before it is delivered, the number that counts towards the retry schedule if that is lower.
 * Attempts do not count if they were made before an operator retried the delivery, or while its sink was held or failed as a whole. `retention`
 * removes old attempts, so the result is never less than the number that counts.
 */
export function attemptCount({ attempts, attempts_made, state }: DeliveryRow): Content {
  const made = Math.max(attempts, attempts_made);
  if (made === attempts || state === 'delivered') return printCount(made);
  return html`${printCount(made)} <small>(${printCount(attempts)} counted)</small>`;
}
