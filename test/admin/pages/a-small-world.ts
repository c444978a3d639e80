import type { RejectedRow } from '../../../src/admin/contract/rejected.ts';
import { aWorld } from './a-world.ts';

/** Few rows: each is like the others, and axe looks at every one. */
export function aSmallWorld() {
  const { leads, polls, deliveries, ...world } = aWorld();
  return {
    ...world,
    leads: leads.slice(0, 8),
    polls: polls.slice(0, 8),
    deliveries: deliveries.slice(6, 16),
  };
}

/** Rejected leads in every state. */
export function theRejected(): RejectedRow[] {
  const at = '2026-11-20T10:00:00.000Z';
  const fault = { source: 'main', lead_id: '7', path: 'created_at', reason: 'is no time' };
  const polls = { poll_id: 3, rejected_at: at, last_poll_id: 4, last_rejected_at: at };
  return [
    { ...fault, ...polls, rejected_id: 3, resolved_at: null, state: 'open' },
    { ...fault, ...polls, rejected_id: 2, resolved_at: null, state: 'gone' },
    { ...fault, ...polls, rejected_id: 1, resolved_at: at, state: 'resolved' },
  ];
}
