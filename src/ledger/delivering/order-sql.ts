/**
 * The deliveries `o` of the same lead to the same sink as the delivery `d`. CROSS JOIN makes SQLite start with the lead's versions:
 * without statistics it would scan all deliveries of the sink.
 */
const SAME_LEAD = `_versions v CROSS JOIN _versions w ON w.source = v.source AND w.id = v.id
  CROSS JOIN _deliveries o ON o.version_no = w.version_no AND o.sink_no = d.sink_no WHERE v.version_no = d.version_no`;

/**
 * No earlier delivery of the same lead as `d` is pending: an older content never overtakes a newer one. In most rows `after_no` alone
 * decides, which is null for the first delivery of a lead.
 */
export const UNBLOCKED = `(d.after_no IS NULL OR NOT EXISTS
  (SELECT 1 FROM ${SAME_LEAD} AND o.delivery_no < d.delivery_no AND o.state = 'pending'))`;

/**
 * A later delivery of the same lead as `d` was not skipped. Only the last delivery may be made due again: if two were, a sink that asks
 * for `created` alone would receive the lead twice, under two idempotency keys.
 */
export const OVERTAKEN = `EXISTS (SELECT 1 FROM ${SAME_LEAD} AND o.delivery_no > d.delivery_no AND o.state <> 'skipped')`;
