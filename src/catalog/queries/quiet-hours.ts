import { type Query, since } from '../query.ts';

/** Returns one row for each gap of at least one clock hour between two leads of a source, with the number of clock hours without a lead. */
export const quietHours: Query = {
  name: 'quiet-hours',
  asks: 'When was no lead created for an hour or more?',
  notes:
    'Whole hours without a lead between two leads of a source, the longest gap first. For the time since the last lead, see pipe-alive.',
  parameters: [since],
  sql: `
WITH recent AS MATERIALIZED (
  SELECT source, created_hour_number AS hour, created_at FROM v_leads_no_pii WHERE created_at >= :since
), by_hour AS (
  SELECT source, hour, min(created_at) AS first_at, max(created_at) AS last_at
  FROM recent
  GROUP BY source, hour
), gaps AS (
  SELECT source, lag(last_at) OVER (PARTITION BY source ORDER BY hour) AS quiet_from, first_at AS quiet_to,
    hour - lag(hour) OVER (PARTITION BY source ORDER BY hour) - 1 AS hours
  FROM by_hour
)
SELECT source, quiet_from, quiet_to, hours
FROM gaps
WHERE hours >= 1
ORDER BY hours DESC, quiet_from, source`,
};
