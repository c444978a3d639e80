import type Database from 'better-sqlite3';
import type { ContentFacts } from '../../leads/content-facts.ts';
import type { PollId } from '../contract/status-rows.ts';

/** A known lead, with its current version. */
export interface LeadRow {
  version_no: number;
  first_no: number;
  version: number;
  hash: string;
  last_listed_at: number | null;
  erased_no: number | null;
}

/** Content of a known lead that was rejected because the listing contained the lead's id more than once. */
export interface RejectedContentRow {
  rejected_id: number;
  id: string;
  first_no: number;
}

/**
 * Records when a gone lead was last listed, in ms, or, with null, that the lead is listed again. Parameters: source, id, that time, now.
 */
export const RECORD_PRESENCE =
  'INSERT OR REPLACE INTO _presence (source, id, last_listed_at, noted_at) VALUES (?, ?, ?, ?)';

/**
 * Removes the listing marker of a source. The marker means that the ledger agrees with the last complete listing. A transaction that
 * changes a lead, or marks it as gone or as listed again, therefore removes the marker: if the poll then fails, the next poll reads the
 * whole listing.
 */
export const CLEAR_MARK = 'UPDATE _sources SET mark = NULL WHERE source = ? AND mark IS NOT NULL';

/** Prepares the statements of `Recording`. */
export function prepareRecording(db: Database.Database) {
  return {
    lead: db.prepare<[string, bigint], LeadRow>(
      'SELECT version_no, first_no, version, hash, last_listed_at, erased_no FROM _leads WHERE source = ? AND id = ?',
    ),
    version: db.prepare<[number], { raw: string; hash: string; first_seen_at: number }>(
      'SELECT raw, hash, first_seen_at FROM _versions WHERE version_no = ?',
    ),
    setText: db.prepare(
      'UPDATE _versions SET raw = ?, service_slug = ?, created_at = ?, readable = ?, safe_raw = ? WHERE version_no = ?',
    ),
    addLead: db.prepare(
      'INSERT INTO _leads (source, id, version_no, first_no, version, hash) VALUES (?, ?, ?, ?, 1, ?)',
    ),
    addVersion: db.prepare(
      'INSERT INTO _versions (source, id, version, poll_id, valid_from, first_seen_at, changed_fields, hash, raw, service_slug, created_at, readable, safe_raw) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
    ),
    setVersion: db.prepare(
      'UPDATE _leads SET version_no = ?, version = ?, hash = ? WHERE source = ? AND id = ?',
    ),
    setHash: db.prepare('UPDATE _leads SET hash = ? WHERE source = ? AND id = ?'),
    countIgnored: db.prepare('UPDATE _erased SET kept_out = kept_out + 1 WHERE erased_no = ?'),
    recordPresence: db.prepare(RECORD_PRESENCE),
    relist: db.prepare('UPDATE _leads SET last_listed_at = NULL WHERE source = ? AND id = ?'),
    count: db.prepare('UPDATE _sources SET leads = leads + ?, current = current + ? WHERE source = ?'),
    // A resolved row that is rejected again gets the next number, so that readers that continue after a number find the row again. Content can be
    // rejected for a different reason than before, for example if `max_lead_size` has changed. Erased text stays erased.
    reject: db.prepare(
      `INSERT INTO rejected_leads (source, poll_id, last_poll_id, position, lead_id, reason, path, hash, raw) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (source, hash) DO UPDATE SET last_poll_id = excluded.last_poll_id, position = excluded.position, resolved_at = NULL,
         lead_id = coalesce(excluded.lead_id, lead_id), reason = excluded.reason, path = excluded.path, raw = iif(raw = '', '', excluded.raw),
         rejected_id = iif(resolved_at IS NULL, rejected_id, (SELECT max(rejected_id) + 1 FROM rejected_leads))`,
    ),
    // Rejected elements with a readable id and `path` = 'id' are repeats, which are valid and can be accepted. All other rejected elements were
    // invalid when they were rejected, and may be valid now. Erased text is never accepted.
    isBarred: db.prepare<[string, string], unknown>(
      `SELECT 1 FROM rejected_leads WHERE source = ? AND hash = ? AND (raw = '' OR resolved_at IS NULL AND path = 'id' AND lead_id IS NOT NULL)`,
    ),
    rejectedAfter: db.prepare<[string, PollId, number], RejectedContentRow>(
      `SELECT r.rejected_id, CAST(r.lead_id AS TEXT) AS id, l.first_no FROM rejected_leads r
       JOIN _leads l ON l.source = r.source AND l.id = r.lead_id
       WHERE r.source = ? AND r.last_poll_id = ? AND r.resolved_at IS NULL AND r.path = 'id' AND r.raw <> '' AND r.rejected_id > ? ORDER BY r.rejected_id LIMIT 200`,
    ),
    rejectedContent: db.prepare<[number], { hash: string; raw: string }>(
      'SELECT hash, raw FROM rejected_leads WHERE rejected_id = ?',
    ),
    resolve: db.prepare('UPDATE rejected_leads SET resolved_at = ? WHERE rejected_id = ?'),
    clearMark: db.prepare(CLEAR_MARK),
    setFirstListed: db.prepare(
      'UPDATE _sources SET first_listed_at = ? WHERE source = ? AND first_listed_at IS NULL',
    ),
  };
}

/** Returns the columns that are derived from a lead's text, in the order of `addVersion`. */
export function columnsOf({
  serviceSlug,
  createdAtMs,
  readable,
  safeRaw,
}: ContentFacts): [string | null, number | null, string | null, string | null] {
  return [serviceSlug, createdAtMs, readable, safeRaw];
}
