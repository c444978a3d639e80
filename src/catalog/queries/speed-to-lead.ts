import { type Query, since } from '../query.ts';

/** Returns one row for each sink to which leads are or were owed. Percentiles are in seconds, by the nearest-rank method. */
export const speedToLead: Query = {
  name: 'speed-to-lead',
  asks: 'How long does a lead take from its creation to each sink?',
  notes:
    'p50 and p90 are percentiles in seconds. A lead that is not delivered counts with its present age. Omits leads of a first sync or a backfill.',
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
