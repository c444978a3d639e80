/** The deliveries `o` of the same lead to the same sink as the delivery `d`. */
const SAME_LEAD = `_versions ov JOIN _versions w ON w.source = ov.source AND w.id = ov.id
  JOIN _deliveries o ON o.version_no = w.version_no AND o.sink_no = d.sink_no WHERE ov.version_no = d.version_no`;

/**
 * Whether no earlier delivery of the same lead as `d` is pending. This condition prevents an older version from overtaking a newer version. In
 * most rows, `after_no` alone decides: it is null for the first delivery of a lead. coalesce() rules out the index of all pending deliveries.
 */
export const UNBLOCKED = `(d.after_no IS NULL OR NOT EXISTS
  (SELECT 1 FROM ${SAME_LEAD} AND o.delivery_no < d.delivery_no AND coalesce(o.state, '') = 'pending'))`;

/**
 * Whether there is a later delivery of the same lead as `d` that was not skipped, or that an operator discarded and may still retry. Only the
 * last delivery may be made due again.
 */
export const OVERTAKEN = `EXISTS (SELECT 1 FROM ${SAME_LEAD} AND o.delivery_no > d.delivery_no AND (o.state <> 'skipped' OR o.discarded = 1))`;
