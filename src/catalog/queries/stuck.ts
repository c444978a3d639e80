import type { Query } from '../query.ts';

/** Returns one row for each sink, state and reason, with the largest number of deliveries first. */
export const stuck: Query = {
  name: 'stuck',
  asks: 'What is stuck, and why?',
  notes:
    'A pending delivery waits until it is due, and while its sink is held, paused, disabled or not in the configuration. A dead delivery has been given up and waits for `leadsync retry`.',
  parameters: [],
  sql: `
SELECT sink, state, coalesce(reason, '') AS reason, count(*) AS deliveries, min(owed_at) AS oldest_owed_at
FROM v_undelivered
GROUP BY sink, state, coalesce(reason, '')
ORDER BY deliveries DESC, sink, state, reason`,
};
