import type { Query } from '../query.ts';

/** A row for each number of leads that some client has, of all sources and time. */
export const repeatClients: Query = {
  name: 'repeat-clients',
  asks: 'How many clients come again, without knowing who they are?',
  notes: 'Needs `store.client_key` in the configuration.',
  parameters: [],
  sql: `
SELECT leads AS leads_per_client, count(*) AS clients
FROM v_clients
GROUP BY leads
ORDER BY leads_per_client`,
};
