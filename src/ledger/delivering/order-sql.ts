/**
 * The deliveries `o` of the same lead to the same sink as the delivery `d`. CROSS JOIN keeps the order: without statistics SQLite would
 * begin with all that the sink is owed.
 */
const SAME_LEAD = `_versions v CROSS JOIN _versions w ON w.source = v.source AND w.id = v.id
  CROSS JOIN _deliveries o ON o.version_no = w.version_no AND o.sink_no = d.sink_no WHERE v.version_no = d.version_no`;

/**
 * Of the delivery `d`: no older one of the same lead is still owed, so that an older content never overtakes a newer one.
 * Almost always told by `after_no` alone, which is null for the first delivery of a lead.
 */
export const UNBLOCKED = `(d.after_no IS NULL OR NOT EXISTS
  (SELECT 1 FROM ${SAME_LEAD} AND o.delivery_no < d.delivery_no AND o.state = 'pending'))`;

/**
 * Of the delivery `d`: the sink was owed the same lead once more behind it, and that was not skipped. Only the last one may be made due
 * again: of two, a sink that asks for new leads alone would get the lead twice, under two names.
 */
export const OVERTAKEN = `EXISTS (SELECT 1 FROM ${SAME_LEAD} AND o.delivery_no > d.delivery_no AND o.state <> 'skipped')`;
