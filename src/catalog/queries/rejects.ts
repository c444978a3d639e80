import type { Query } from '../query.ts';

/** Returns one row for each source, reason and path, with the most frequent first. */
export const rejects: Query = {
  name: 'rejects',
  asks: "Which listed elements do not match the service's API description?",
  notes:
    '`open` counts the elements that are still listed with the fault, and `gone` those that the last complete listing no longer has. The others were corrected.',
  parameters: [],
  sql: `
WITH complete AS (SELECT source, max(poll_id) AS poll_id FROM polls WHERE status = 'success' GROUP BY source)
SELECT r.source, r.reason, r.path, count(*) AS rejected,
  sum(CASE WHEN r.resolved_at IS NULL AND r.last_poll_id >= coalesce(c.poll_id, 0) THEN 1 ELSE 0 END) AS open,
  sum(CASE WHEN r.resolved_at IS NULL AND r.last_poll_id < c.poll_id THEN 1 ELSE 0 END) AS gone
FROM rejected_leads r LEFT JOIN complete c ON c.source = r.source
GROUP BY r.source, r.reason, r.path
ORDER BY rejected DESC, r.source, r.reason, r.path`,
};
