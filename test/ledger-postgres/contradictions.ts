/** The invariants between tables, of which each SELECT finds the rows that violate one. */
export const CONTRADICTIONS = `
  SELECT 'batched' AS rule FROM _deliveries d LEFT JOIN _batches b ON b.batch_no = d.batch_no
    WHERE d.batch_no IS NOT NULL AND (b.batch_no IS NULL OR d.state <> 'pending')
  UNION ALL SELECT 'empty batch' FROM _batches b WHERE NOT EXISTS (SELECT 1 FROM _deliveries d WHERE d.batch_no = b.batch_no)
  UNION ALL SELECT 'current version' FROM _versions v LEFT JOIN _leads l ON l.source = v.source AND l.id = v.id
    WHERE l.id IS NULL OR v.version > l.version OR (v.version = l.version AND v.version_no <> l.version_no)
  UNION ALL SELECT 'counts' FROM (
      SELECT sink_no, pending, delivered, dead, skipped FROM _sink_counts
      UNION ALL SELECT sink_no, pending, delivered, dead, skipped FROM _count_changes
      UNION ALL SELECT sink_no, -(state = 'pending')::int, -(state = 'delivered')::int, -(state = 'dead')::int, -(state = 'skipped')::int FROM _deliveries) n
    GROUP BY sink_no HAVING sum(pending) <> 0 OR sum(delivered) <> 0 OR sum(dead) <> 0 OR sum(skipped) <> 0
  UNION ALL SELECT 'leads' FROM _sources o WHERE leads <> (SELECT count(*) FROM _leads l WHERE l.source = o.source)
    OR current <> (SELECT count(*) FROM _leads l WHERE l.source = o.source AND l.last_listed_at IS NULL)`;
