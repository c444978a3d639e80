import type { LeadColumn } from '../../table/lead-row.ts';

/** Type for text that people write. It has no maximum length, so that no lead is refused for its length. */
const TEXT = 'longtext CHARACTER SET utf8mb4';
/** Type for text that programs write, which is compared exactly. */
const EXACT_TEXT = `${TEXT} COLLATE utf8mb4_bin`;
/** Type for the name of a source. A column in a primary key must have a maximum length; the configuration allows 63 characters. */
const SOURCE = 'varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin';

/** The columns of `leads` that leadsync writes, with their types. The server sets `_leadsync_synced_at`. */
export const leadColumns: Readonly<Record<LeadColumn | '_leadsync_synced_at', string>> = {
  source: SOURCE,
  id: 'bigint',
  service_name: TEXT,
  service_slug: EXACT_TEXT,
  created_at: 'datetime(6)',
  client_name: TEXT,
  client_email: TEXT,
  client_phone_number: TEXT,
  client_address: TEXT,
  all_details_one_liner: TEXT,
  service_question_answers: 'json',
  answers: 'json',
  _leadsync_first_seen_at: 'datetime(6)',
  _leadsync_changed_at: 'datetime(6)',
  _leadsync_synced_at: 'datetime(6)',
  _leadsync_last_listed_at: 'datetime(6)',
  _leadsync_version: 'int',
  _leadsync_hash: 'varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin',
  _leadsync_raw: EXACT_TEXT,
  _leadsync_replaced: 'boolean',
  _leadsync_original: EXACT_TEXT,
};

/** The columns of `lead_answers`, with their types. */
export const answerColumns = {
  source: SOURCE,
  lead_id: 'bigint',
  position: 'int',
  question: TEXT,
  slug: EXACT_TEXT,
  answer: TEXT,
} as const;
