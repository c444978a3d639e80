import type { Query } from '../query.ts';

/** A row for each sink, state and reason, the most deliveries first. */
export const stuck: Query = {
  name: 'stuck',
  asks: 'What is stuck, and why?',
  notes:
    'Pending deliveries wait for their time or their sink; dead ones were given up, and wait for `leadsync retry`.',
  parameters: [],
  sql: `
SELECT sink, state, coalesce(reason, '') AS reason, count(*) AS deliveries, min(owed_at) AS oldest_owed_at
FROM v_undelivered
GROUP BY sink, state, coalesce(reason, '')
ORDER BY deliveries DESC, sink, state, reason`,
};
