import { type Query, since } from '../query.ts';

/** Returns one row for each hour of the week that has leads, so at most 168 rows. */
export const hourOfWeek: Query = {
  name: 'hour-of-week',
  asks: 'At which hours of the week are leads created?',
  notes: 'For a heat map. Weekday 0 is Sunday; hours are UTC. An hour without leads has no row.',
  parameters: [since],
  sql: `
SELECT created_weekday AS weekday, created_hour AS hour, count(*) AS leads
FROM v_leads_no_pii
WHERE created_at >= :since
GROUP BY created_weekday, created_hour
ORDER BY weekday, hour`,
};
