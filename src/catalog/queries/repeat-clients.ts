import type { Query } from '../query.ts';

/** Returns one row for each number of leads, with the number of clients that have that many leads, in all sources and of all time. */
export const repeatClients: Query = {
  name: 'repeat-clients',
  asks: 'How many clients have several leads?',
  notes: 'Counts clients without personal data. Needs `store.client_key` in the configuration.',
  parameters: [],
  sql: `
SELECT leads AS leads_per_client, count(*) AS clients
FROM v_clients
GROUP BY leads
ORDER BY leads_per_client`,
};
