import { statement } from '../database/statement.ts';

/** A known lead, with its current version. */
export interface LeadRow {
  id: string;
  version_no: number;
  first_no: number;
  version: number;
  hash: string;
  last_listed_at: number | null;
  erased_no: number | null;
}

/** Content of a lead that was rejected before. */
export interface RejectedRow {
  hash: string;
  /** Whether its text was erased. */
  erased: boolean;
  open: boolean;
  path: string;
  has_id: boolean;
}

/** Content of a known lead that was rejected because the listing contained the lead's id more than once. */
export interface RepeatedRow {
  rejected_id: number;
  id: string;
  first_no: number;
}

const IS_POLL = "p.poll_id = $1 AND p.source = $2 AND p.token = $3 AND p.parts = $4 AND p.status = 'running'";
// Locks the source before the poll, as the start of a poll does.
const FENCE = statement<{ passed: number }>(
  'fence-of-poll',
  `WITH locked AS MATERIALIZED (SELECT o.source FROM _sources o WHERE o.source = $2 FOR UPDATE)
   UPDATE _polls p SET parts = p.parts + 1 FROM locked l WHERE p.source = l.source AND ${IS_POLL} RETURNING 1 AS passed`,
);
const IS_FENCED_BY = statement<{ known: number }>(
  'is-fenced-by-poll',
  `SELECT 1 AS known FROM _polls p WHERE ${IS_POLL}`,
);
const HOLDS_DUTY = statement<{ known: number }>(
  'holds-duty-of-source',
  `SELECT 1 AS known FROM _duty_leases WHERE duty = 'poll:' || $1::text AND token = $2 AND holder IS NOT NULL`,
);

const LEADS = statement<LeadRow>(
  'leads',
  `SELECT id::text AS id, version_no, first_no, version, hash, last_listed_at, erased_no FROM _leads WHERE source = $1 AND id = ANY ($2::bigint[])`,
);

const REJECTED = statement<RejectedRow>(
  'rejected-contents',
  `SELECT hash, raw = '' AS erased, resolved_at IS NULL AS open, path, lead_id IS NOT NULL AS has_id FROM _rejected_leads
   WHERE source = $1 AND hash = ANY ($2::text[])`,
);

const CONTENTS = statement<{ version_no: number; raw: string; hash: string; first_seen_at: number }>(
  'contents',
  'SELECT version_no, raw, hash, first_seen_at FROM _versions WHERE version_no = ANY ($1::bigint[])',
);

const NUMBERS = statement<{ no: number }>(
  'version-numbers',
  `SELECT nextval('_version_no') AS no FROM generate_series(1, $1::int)`,
);

const ADD_VERSIONS = statement(
  'add-versions',
  `INSERT INTO _versions (version_no, source, id, version, poll_id, valid_from, first_seen_at, changed_fields, hash, raw, service_slug, created_at, readable, safe_raw)
   SELECT g.version_no, $1, g.id, g.version, $2, $3, g.first_seen_at, g.changed_fields, g.hash, g.raw, g.service_slug, g.created_at, g.readable, g.safe_raw
   FROM unnest($4::bigint[], $5::bigint[], $6::int[], $7::bigint[], $8::text[], $9::text[], $10::text[], $11::text[], $12::bigint[], $13::text[], $14::text[])
     AS g (version_no, id, version, first_seen_at, changed_fields, hash, raw, service_slug, created_at, readable, safe_raw)`,
);

const ADD_LEADS = statement(
  'add-leads',
  `INSERT INTO _leads (source, id, version_no, first_no, version, hash)
   SELECT $1, g.id, g.version_no, g.version_no, 1, g.hash FROM unnest($2::bigint[], $3::bigint[], $4::text[]) AS g (id, version_no, hash)`,
);

/** Writes the current version and hash of known leads, and that they are listed. */
const CHANGE_LEADS = statement(
  'change-leads',
  `UPDATE _leads l SET version_no = g.version_no, version = g.version, hash = g.hash, last_listed_at = NULL
   FROM unnest($2::bigint[], $3::bigint[], $4::int[], $5::text[]) AS g (id, version_no, version, hash)
   WHERE l.source = $1 AND l.id = g.id`,
);

const RESTORE_TEXTS = statement(
  'restore-texts',
  `UPDATE _versions v SET raw = g.raw, service_slug = g.service_slug, created_at = g.created_at, readable = g.readable, safe_raw = g.safe_raw
   FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::text[], $6::text[])
     AS g (version_no, raw, service_slug, created_at, readable, safe_raw) WHERE v.version_no = g.version_no`,
);

const COUNT_IGNORED = statement(
  'count-ignored',
  'UPDATE _erased SET kept_out = kept_out + 1 WHERE erased_no = ANY ($1::bigint[])',
);

/** Records when gone leads were last listed, in ms, or, with null, that they are listed again. Each change gets a new number. */
const RECORD_PRESENCE = statement(
  'record-presence',
  `INSERT INTO _presence (presence_no, source, id, last_listed_at, noted_at)
   SELECT nextval('_presence_no'), $1, g.id, $3::bigint, $4 FROM unnest($2::bigint[]) AS g (id)
   ON CONFLICT (source, id) DO UPDATE SET presence_no = excluded.presence_no, last_listed_at = excluded.last_listed_at, noted_at = excluded.noted_at`,
);

/**
 * Records rejected elements, each content once. A resolved row that is rejected again gets the next number, so that readers that continue after
 * a number find the row again. Erased text stays erased.
 */
const REJECT = statement(
  'reject',
  `INSERT INTO _rejected_leads AS r (source, poll_id, last_poll_id, position, lead_id, reason, path, hash, raw)
   SELECT $1, $2, $2, g.position, g.lead_id, g.reason, g.path, g.hash, g.raw
   FROM unnest($3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::text[]) WITH ORDINALITY
     AS g (position, lead_id, reason, path, hash, raw, place) ORDER BY g.place
   ON CONFLICT (source, hash) DO UPDATE SET last_poll_id = excluded.last_poll_id, position = excluded.position, resolved_at = NULL,
     lead_id = coalesce(excluded.lead_id, r.lead_id), reason = excluded.reason, path = excluded.path,
     raw = CASE WHEN r.raw = '' THEN '' ELSE excluded.raw END,
     rejected_id = CASE WHEN r.resolved_at IS NULL THEN r.rejected_id ELSE excluded.rejected_id END`,
);

/**
 * Counts leads of a source. Removes the listing marker if a lead changed: the marker means that the ledger agrees with the last complete
 * listing, so that the next poll reads the whole listing if this one fails.
 */
const COUNT_LEADS = statement(
  'count-leads',
  `UPDATE _sources SET leads = leads + $2, current = current + $3, mark = CASE WHEN $4 THEN NULL ELSE mark END,
   first_listed_at = coalesce(first_listed_at, $5) WHERE source = $1`,
);

const REPEATED_AFTER = statement<RepeatedRow>(
  'repeated-after',
  `SELECT r.rejected_id, r.lead_id::text AS id, l.first_no FROM _rejected_leads r JOIN _leads l ON l.source = r.source AND l.id = r.lead_id
   WHERE r.source = $1 AND r.last_poll_id = $2 AND r.resolved_at IS NULL AND r.path = 'id' AND r.raw <> '' AND r.rejected_id > $3
   ORDER BY r.rejected_id LIMIT 200`,
);

const REJECTED_CONTENTS = statement<{ rejected_id: number; hash: string; raw: string }>(
  'contents-of-rejected',
  'SELECT rejected_id, hash, raw FROM _rejected_leads WHERE rejected_id = ANY ($1::bigint[])',
);

const RESOLVE = statement(
  'resolve',
  'UPDATE _rejected_leads SET resolved_at = $1 WHERE rejected_id = ANY ($2::bigint[])',
);

/** The statements of recording a listing. */
export const recordingSql = {
  FENCE,
  HOLDS_DUTY,
  IS_FENCED_BY,
  LEADS,
  REJECTED,
  CONTENTS,
  NUMBERS,
  ADD_VERSIONS,
  ADD_LEADS,
  CHANGE_LEADS,
  RESTORE_TEXTS,
  COUNT_IGNORED,
  RECORD_PRESENCE,
  REJECT,
  COUNT_LEADS,
  REPEATED_AFTER,
  REJECTED_CONTENTS,
  RESOLVE,
};
