import type { Query } from '../query.ts';

/** Returns one row for each source and each sink, with the same columns. For a source, `pending` and `dead` are 0. */
export const pipeAlive: Query = {
  name: 'pipe-alive',
  asks: 'Is the pipe alive?',
  notes:
    'A source is late if its last complete listing is more than 15 minutes old. Leads wait while their sink is held or paused.',
  parameters: [],
  sql: `
SELECT 'source' AS part, source AS name,
  CASE WHEN last_success_at IS NULL THEN 'never read' WHEN age_seconds > 900 THEN 'late' ELSE 'alive' END AS state,
  last_success_at AS last_at, 0 AS pending, 0 AS dead
FROM v_freshness
UNION ALL
SELECT 'sink', sink,
  CASE WHEN paused_since IS NOT NULL THEN 'paused' WHEN held_since IS NOT NULL THEN 'held' ELSE 'alive' END,
  last_delivered_at, pending, dead
FROM v_sink_health
ORDER BY part, name`,
};
