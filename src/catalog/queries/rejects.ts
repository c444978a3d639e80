import type { Query } from '../query.ts';

/** Returns one row for each source, reason and path, with the most frequent first. */
export const rejects: Query = {
  name: 'rejects',
  asks: "Which listed elements violate the service's description?",
  notes:
    '`open` counts the elements that still have the fault: no later listing has contained a corrected version.',
  parameters: [],
  sql: `
SELECT source, reason, path, count(*) AS rejected,
  sum(CASE WHEN resolved_at IS NULL THEN 1 ELSE 0 END) AS open
FROM rejected_leads
GROUP BY source, reason, path
ORDER BY rejected DESC, source, reason, path`,
};
