import { type Query, since } from '../query.ts';

/** Returns one row for each lead and sink to which no version of the lead was delivered, whatever events the sink subscribes to. */
export const missing: Query = {
  name: 'missing',
  asks: 'Which leads does a sink not have?',
  notes:
    'Leads of which the sink has received no version. `state` is the state of the last delivery, or `never owed`.',
  parameters: [since],
  sql: `
WITH recent AS MATERIALIZED (
  SELECT source, id, created_at FROM v_leads_no_pii WHERE created_at >= :since
)
SELECT s.sink, recent.source, recent.id, recent.created_at,
  coalesce((
    SELECT d.state FROM deliveries d WHERE d.source = recent.source AND d.lead_id = recent.id AND d.sink = s.sink
    ORDER BY d.owed_at DESC LIMIT 1
  ), 'never owed') AS state
FROM recent CROSS JOIN (SELECT sink FROM v_sink_health) s
WHERE NOT EXISTS (
  SELECT 1 FROM deliveries d
  WHERE d.source = recent.source AND d.lead_id = recent.id AND d.sink = s.sink AND d.state = 'delivered'
)
ORDER BY s.sink, recent.source, recent.id`,
};
