import { type Query, since } from '../query.ts';

/** A row for each sink that got leads. Percentiles are times that some lead took (nearest rank), in seconds. */
export const speedToLead: Query = {
  name: 'speed-to-lead',
  asks: 'How long does a lead take from its creation to each sink?',
  notes:
    'Half of the leads were faster than p50, nine of ten faster than p90, in seconds. Leads that were there before leadsync are slow by nature: ask from a time after the first sync.',
  parameters: [since],
  sql: `
WITH ranked AS (
  SELECT sink, created_to_delivered_seconds AS seconds,
    row_number() OVER (PARTITION BY sink ORDER BY created_to_delivered_seconds) AS place,
    count(*) OVER (PARTITION BY sink) AS leads
  FROM v_speed_to_lead
  WHERE created_at >= :since
)
SELECT sink, max(leads) AS leads,
  min(CASE WHEN place >= 0.5 * leads THEN seconds END) AS p50_seconds,
  min(CASE WHEN place >= 0.9 * leads THEN seconds END) AS p90_seconds
FROM ranked
GROUP BY sink
ORDER BY sink`,
};
