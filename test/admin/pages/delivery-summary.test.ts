import { expect, test } from 'vitest';
import type { DeliveryRow } from '../../../src/admin/contract/deliveries.ts';
import { deliverySummary } from '../../../src/admin/pages/leads/delivery-summary.ts';
import { aWorld } from './a-world.ts';

/** Builds deliveries from texts such as `crm dead`, newest first. `retried` is a pending one whose last attempt failed. */
function deliveriesOf(texts: readonly string[]): DeliveryRow[] {
  const [example] = aWorld().deliveries;
  return texts.map((text) => {
    const [sink = '', state = ''] = text.split(' ');
    const [known, reason] = state === 'retried' ? ['pending', 'It answered 503.'] : [state, null];
    return { ...(example as DeliveryRow), sink, state: known as DeliveryRow['state'], reason };
  });
}

test.each<[string[], string | undefined]>([
  [[], undefined],
  [['crm delivered'], 'Delivered to 1 of 1 sink.'],
  [['crm delivered', 'drop delivered'], 'Delivered to 2 of 2 sinks.'],
  [['crm pending'], 'Delivered to 0 of 1 sink; pending for 1 (crm).'],
  [
    ['drop retried', 'crm retried', 'lake dead', 'log delivered', 'old skipped', 'tail pending'],
    'Delivered to 1 of 5 sinks; retried for 2 (crm, drop), pending for 1 (tail), dead for 1 (lake), skipped for 1 (old).',
  ],
  [['crm skipped'], 'Owed to no sink; skipped for 1 (crm).'],
  // Only the last delivery to a sink counts, and the first row is the newest.
  [['crm pending', 'drop delivered', 'crm delivered'], 'Delivered to 1 of 2 sinks; pending for 1 (crm).'],
])('the deliveries %j of a lead are summed up as %j', (texts, summary) => {
  expect(deliverySummary(deliveriesOf(texts))).toBe(summary);
});
