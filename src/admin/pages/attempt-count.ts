import { html } from 'htm/preact';
import { printCount } from '../../platform/text/format.ts';
import type { DeliveryRow } from '../contract/deliveries.ts';
import type { Content } from './parts/content.ts';

/**
 * Returns how often a delivery was attempted and, if it is not delivered, how many of these attempts count towards the retry schedule: not those
 * before an operator retried it, nor those while its sink was held or failed as a whole. `retention` removes old attempts, so the numbers are
 * never less than those that count.
 */
export function attemptCount({ attempts, attempts_made, state }: DeliveryRow): Content {
  const made = Math.max(attempts, attempts_made);
  if (made === attempts || state === 'delivered') return printCount(made);
  return html`${printCount(made)} <small>(${printCount(attempts)} counted)</small>`;
}
