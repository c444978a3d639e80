/** The public id of a delivery, from the rows `d` (delivery), `v` (version) and `s` (sink). Receivers rely on the form of the id. */
export const DELIVERY_ID = `(coalesce(s.named, s.sink) || ':' || v.source || ':' || v.id || ':' || v.version || ':' || substr(v.hash, 1, 8)
  || CASE WHEN d.event = 'erased' THEN ':erased' WHEN d.replay <> 0 THEN ':r' || d.replay ELSE '' END || CASE WHEN d.reissued <> 0 THEN ':m' || d.reissued ELSE '' END)`;

/** When the lead of `d` was first owed to its sink, in ms. `d` may have replaced an earlier delivery of an older version. */
export const OWED_AT = `CASE WHEN d.owed_at <= v.first_seen_at THEN d.owed_at ELSE (SELECT min(f.owed_at) FROM _versions w JOIN _deliveries f ON f.version_no = w.version_no
    WHERE w.source = v.source AND w.id = v.id AND f.sink_no = d.sink_no AND f.replay = 0) END`;

/** Whether the delivery `d` of the version `v` shows how fast leadsync delivers a new lead of the source `o`. See ledger/schema/views.ts. */
export const IS_NEW_LEAD = `(d.event = 'created' AND d.replay = 0 AND coalesce(v.created_at >= o.first_listed_at, false) AND ${OWED_AT} <= v.first_seen_at)`;

/**
 * Whether every later attempt of the delivery `d` has to use the mapping of an earlier attempt, because a request with that mapping has
 * carried the delivery's id.
 */
export const KEEPS_MAPPING = '(d.unsure_at IS NOT NULL OR d.bound = 1)';

/** Returns whether the reason of the delivery `d` contains a parameter, which is folded as in ledger/rules/queries/result-parameters.ts. */
export const hasReason = (parameter: string) =>
  `strpos(lower(coalesce(d.reason, '') COLLATE "C"), ${parameter}) > 0`;

/** Whether the ledger still stores the current content of the lead `l`. A lead without content cannot be sent. */
export const HAS_CONTENT = `(SELECT c.raw <> '{"id":' || c.id || '}' FROM _versions c WHERE c.version_no = l.version_no)`;
