/** The names that leadsync makes in its schema. */
export const OUR_NAMES = ['leads', 'lead_answers', 'v_leads', 'v_services', 'v_questions'] as const;

/**
 * The steps from an empty schema to this version's. A step that has been released is never changed; a new one is added
 * after it. They run in the schema as `search_path`, in one transaction.
 */
export const migrations: readonly string[] = [
  `
  CREATE TABLE leads (
    source text NOT NULL,
    id bigint NOT NULL,
    service_name text NOT NULL,
    service_slug text NOT NULL,
    created_at timestamptz NOT NULL,
    client_name text NOT NULL,
    client_email text NOT NULL,
    client_phone_number text NOT NULL,
    client_address text,
    all_details_one_liner text NOT NULL,
    service_question_answers jsonb NOT NULL,
    answers jsonb NOT NULL,
    _leadsync_first_seen_at timestamptz NOT NULL,
    _leadsync_changed_at timestamptz NOT NULL,
    _leadsync_synced_at timestamptz NOT NULL,
    _leadsync_last_listed_at timestamptz NOT NULL,
    _leadsync_version integer NOT NULL,
    _leadsync_hash text NOT NULL,
    _leadsync_raw json NOT NULL,
    _leadsync_replaced boolean NOT NULL,
    PRIMARY KEY (source, id)
  );
  CREATE INDEX leads_created_at ON leads (created_at);
  COMMENT ON TABLE leads IS 'One row per lead: its current content. Written by leadsync.';
  COMMENT ON COLUMN leads.source IS 'The source in leadsync''s configuration that listed the lead.';
  COMMENT ON COLUMN leads.id IS 'The service''s identifier of the lead; unique within its source.';
  COMMENT ON COLUMN leads.service_name IS 'Display name of the service category.';
  COMMENT ON COLUMN leads.service_slug IS 'Slug of the service category.';
  COMMENT ON COLUMN leads.created_at IS 'When the lead was created, as the service says. A time without an offset is taken as UTC.';
  COMMENT ON COLUMN leads.client_name IS 'Name of the client. Personal data.';
  COMMENT ON COLUMN leads.client_email IS 'Email address of the client. Personal data.';
  COMMENT ON COLUMN leads.client_phone_number IS 'Phone number of the client. Personal data.';
  COMMENT ON COLUMN leads.client_address IS 'The friendly address; null when the lead has none. Personal data.';
  COMMENT ON COLUMN leads.all_details_one_liner IS 'Questions, answers and address in one text. Personal data.';
  COMMENT ON COLUMN leads.service_question_answers IS 'The answers in order: [{question, slug, answer}]. Personal data.';
  COMMENT ON COLUMN leads.answers IS 'The answers by slug; an array where a slug repeats. Personal data.';
  COMMENT ON COLUMN leads._leadsync_first_seen_at IS 'When leadsync first listed the lead. Never changes.';
  COMMENT ON COLUMN leads._leadsync_changed_at IS 'When leadsync first listed this content.';
  COMMENT ON COLUMN leads._leadsync_synced_at IS 'When this row was last written.';
  COMMENT ON COLUMN leads._leadsync_last_listed_at IS 'The latest time at which the lead is known here to have been listed: when this content was first listed.';
  COMMENT ON COLUMN leads._leadsync_version IS '1 for the content first seen, one more for each change; begins anew with a new ledger.';
  COMMENT ON COLUMN leads._leadsync_hash IS 'First 128 bits of SHA-256 over the lead''s JSON, in hex.';
  COMMENT ON COLUMN leads._leadsync_raw IS 'The lead''s JSON exactly as received. Personal data.';
  COMMENT ON COLUMN leads._leadsync_replaced IS 'Whether a character that PostgreSQL cannot store (NUL, lone surrogate) was replaced by U+FFFD in the other columns; _leadsync_raw has the original.';

  CREATE TABLE lead_answers (
    source text NOT NULL,
    lead_id bigint NOT NULL,
    position integer NOT NULL,
    question text NOT NULL,
    slug text NOT NULL,
    answer text NOT NULL,
    PRIMARY KEY (source, lead_id, position),
    FOREIGN KEY (source, lead_id) REFERENCES leads (source, id) ON DELETE CASCADE
  );
  COMMENT ON TABLE lead_answers IS 'One row per answer of a lead''s current content. Written by leadsync.';
  COMMENT ON COLUMN lead_answers.source IS 'With lead_id: the lead.';
  COMMENT ON COLUMN lead_answers.lead_id IS 'With source: the lead.';
  COMMENT ON COLUMN lead_answers.position IS 'Place among the lead''s answers, from 0.';
  COMMENT ON COLUMN lead_answers.question IS 'The question as it was put.';
  COMMENT ON COLUMN lead_answers.slug IS 'The question''s slug. May repeat within a lead.';
  COMMENT ON COLUMN lead_answers.answer IS 'What the client answered. Personal data.';

  CREATE VIEW v_leads AS SELECT source, id, service_name, service_slug, created_at, client_name, client_email,
    client_phone_number, client_address, all_details_one_liner, service_question_answers, answers FROM leads;
  COMMENT ON VIEW v_leads IS 'The leads as the service shows them, without leadsync''s own columns.';
  CREATE VIEW v_services AS SELECT source, service_slug, service_name, count(*) AS leads FROM leads GROUP BY 1, 2, 3;
  COMMENT ON VIEW v_services IS 'How many leads each service category has.';
  CREATE VIEW v_questions AS SELECT source, slug, question, count(*) AS answers FROM lead_answers GROUP BY 1, 2, 3;
  COMMENT ON VIEW v_questions IS 'How many answers each question has.';
  `,
];
