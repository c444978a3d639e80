import { type Query, since } from '../query.ts';

/** A row for each sink that is owed leads. Percentiles are times that some lead took (nearest rank), in seconds. */
export const speedToLead: Query = {
  name: 'speed-to-lead',
  asks: 'How long does a lead take from its creation to each sink?',
  notes:
    'Half of the leads were faster than p50, nine of ten faster than p90, in seconds. Leads that have not arrived count with their present age. Leads that a first sync or a backfill brought are left out.',
  parameters: [since],
  sql: `
WITH ranked AS (
  SELECT sink, state, age_seconds AS seconds,
    row_number() OVER (PARTITION BY sink ORDER BY age_seconds) AS place,
    count(*) OVER (PARTITION BY sink) AS leads
  FROM v_speed_to_lead_all
  WHERE created_at >= :since AND NOT is_backfill
)
SELECT sink, max(leads) AS leads, sum(CASE WHEN state = 'delivered' THEN 0 ELSE 1 END) AS not_delivered,
  min(CASE WHEN place >= 0.5 * leads THEN seconds END) AS p50_seconds,
  min(CASE WHEN place >= 0.9 * leads THEN seconds END) AS p90_seconds
FROM ranked
GROUP BY sink
ORDER BY sink`,
};
