import { hash } from 'node:crypto';
import type { Batch } from '../leads/delivery.ts';

/** No source can have this name, because it contains a space. */
const SOURCE = 'leadsync test';

/**
 * Returns a batch with one test lead, for `Sink.test`. It is easy to recognise: its name, service, address and answer say that it is a test,
 * its id is 0, which the service never assigns, and its email domain is reserved (RFC 2606).
 */
export function testBatch(sink: string, now: Date): Batch {
  const raw = JSON.stringify(testLead(now));
  const delivery = {
    id: `test:${sink}:${now.getTime()}`,
    source: SOURCE,
    leadId: 0n,
    version: 1,
    event: 'created',
    replay: false,
    firstSeenAt: now,
    changedAt: now,
    hash: hash('sha256', raw).slice(0, 32),
    raw,
  } as const;
  return { id: 'test', sink, createdAt: now, deliveries: [delivery] };
}

function testLead(now: Date) {
  const what = 'TEST of leadsync, not a lead';
  return {
    id: 0,
    service_name: what,
    service_slug: 'leadsync-test',
    created_at: now.toISOString(),
    client_name: what,
    client_email: 'test@leadsync.invalid',
    client_phone_number: '0000000000',
    client_address: { friendly_address: what },
    service_question_answers: [{ question: 'Is this a lead?', slug: 'leadsync_test', answer: what }],
    all_details_one_liner: what,
  };
}
