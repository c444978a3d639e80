import type { Content } from '../../../src/admin/contract/leads.ts';

/** What the webhook answered to a lead that it refused. */
export function anAnswer(answer: string): Content['answers'][number] {
  return {
    delivery_id: 'a-delivery',
    sink: 'crm',
    started_at: '2026-11-21T13:58:03.120Z',
    outcome: 'refused',
    http_status: 422,
    answer,
  };
}
