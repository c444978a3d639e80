import type { Query } from '../query.ts';

/** A row for each source, reason and path, the most frequent first. */
export const rejects: Query = {
  name: 'rejects',
  asks: 'What does the service list that breaks its own description?',
  notes: 'Open ones are still listed so, or were when they were last seen.',
  parameters: [],
  sql: `
SELECT source, reason, path, count(*) AS rejected,
  sum(CASE WHEN resolved_at IS NULL THEN 1 ELSE 0 END) AS open
FROM rejected_leads
GROUP BY source, reason, path
ORDER BY rejected DESC, source, reason, path`,
};
