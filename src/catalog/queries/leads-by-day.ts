import { type Query, since } from '../query.ts';

/** Returns one row for each day and service that has leads. */
export const leadsByDay: Query = {
  name: 'leads-by-day',
  asks: 'How many leads were created per day and service?',
  notes: 'By the UTC day on which the service created the lead. A day without leads has no row.',
  parameters: [since],
  sql: `
SELECT created_day AS day, service_slug, count(*) AS leads
FROM v_leads_no_pii
WHERE created_at >= :since
GROUP BY created_day, service_slug
ORDER BY day, service_slug`,
};
