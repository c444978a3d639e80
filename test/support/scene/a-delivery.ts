import type { Batch, Delivery } from '../../../src/leads/delivery.ts';
import { aLead, hashOf } from './a-lead.ts';

/** A delivery with what the test says otherwise; its raw text follows `leadId` unless given. */
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

/** A batch of the given deliveries, or of `count` leads with the ids from 1 on. */
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
