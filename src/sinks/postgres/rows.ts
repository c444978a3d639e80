import type { LeadRow } from '../lead-row.ts';

/** The columns that are written, with their types; `_leadsync_synced_at` is the server's own time. */
export const leadColumns = {
  source: 'text',
  id: 'bigint',
  service_name: 'text',
  service_slug: 'text',
  created_at: 'timestamptz',
  client_name: 'text',
  client_email: 'text',
  client_phone_number: 'text',
  client_address: 'text',
  all_details_one_liner: 'text',
  service_question_answers: 'jsonb',
  answers: 'jsonb',
  _leadsync_first_seen_at: 'timestamptz',
  _leadsync_changed_at: 'timestamptz',
  _leadsync_last_listed_at: 'timestamptz',
  _leadsync_version: 'integer',
  _leadsync_hash: 'text',
  _leadsync_raw: 'json',
  _leadsync_replaced: 'boolean',
  _leadsync_original: 'text',
} as const;

/** A lead's answers as they are stored, a row each. */
export function answerRows({ columns: { source, id }, answers }: LeadRow) {
  return answers.map((answer, position) => ({ source, lead_id: id, position, ...answer }));
}
