import type { Batch, Delivery } from '../../../src/leads/delivery.ts';
import { aLead, hashOf } from './a-lead.ts';

/** Builds a delivery; `raw` follows `leadId` unless the test overrides it. */
export function aDelivery(fields: Partial<Delivery> = {}): Delivery {
  const leadId = fields.leadId ?? 42n;
  const raw = fields.raw ?? aLead({ id: leadId });
  return {
    id: `dlv_${leadId}_${fields.version ?? 1}`,
    source: 'main',
    leadId,
    version: 1,
    event: 'created',
    replay: false,
    firstSeenAt: new Date('2026-11-20T10:00:00.000Z'),
    changedAt: new Date('2026-11-20T10:00:00.000Z'),
    hash: hashOf(raw),
    raw,
    ...fields,
  };
}

/** Builds a batch of the given deliveries, or of `count` leads with ids from 1. */
export function aBatch(deliveries: readonly Delivery[] | number = 1, fields: Partial<Batch> = {}): Batch {
  return {
    id: 'b0000000000000001',
    sink: 'sink',
    createdAt: new Date('2026-11-20T10:00:01.000Z'),
    deliveries:
      typeof deliveries === 'number'
        ? Array.from({ length: deliveries }, (_, index) => aDelivery({ leadId: BigInt(index + 1) }))
        : deliveries,
    ...fields,
  };
}
