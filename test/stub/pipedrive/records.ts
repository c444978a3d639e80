import type { FieldValues } from './field-values.ts';

/** An e-mail address or a phone number of a person. */
export interface ContactValue {
  readonly value: string;
  readonly primary: boolean;
  readonly label: string;
}

/** A person as stored, which is how v2 answers it. */
export interface Person {
  readonly id: number;
  readonly name: string;
  readonly first_name: string;
  readonly last_name: string | null;
  readonly owner_id: number;
  readonly org_id: number | null;
  readonly add_time: string;
  readonly update_time: string;
  readonly emails: readonly ContactValue[];
  readonly phones: readonly ContactValue[];
  readonly is_deleted: boolean;
  readonly visible_to: number;
  readonly label_ids: readonly number[];
  readonly picture_id: null;
  readonly custom_fields: FieldValues;
  /** `job_title` and the other fields of contact sync, if the company has it. */
  readonly [contactSync: string]: unknown;
}

/** A lead as stored. v1 answers its custom fields beside the other properties. */
export interface Lead {
  /** A UUID. */
  readonly id: string;
  readonly title: string;
  readonly owner_id: number;
  readonly creator_id: number;
  readonly label_ids: readonly string[];
  readonly person_id: number | null;
  readonly organization_id: number | null;
  readonly source_name: 'API';
  readonly origin: 'API';
  readonly origin_id: string | null;
  readonly channel: number | null;
  readonly channel_id: string | null;
  readonly is_archived: boolean;
  readonly was_seen: boolean;
  readonly value: { readonly amount: number; readonly currency: string } | null;
  readonly expected_close_date: string | null;
  readonly next_activity_id: null;
  readonly add_time: string;
  readonly update_time: string;
  readonly visible_to: string;
  readonly cc_email: string;
  /** In the form of v2. */
  readonly custom_fields: FieldValues;
}

/** A deal as stored, which is how v2 answers it. */
export interface Deal {
  readonly id: number;
  readonly title: string;
  readonly creator_user_id: number;
  readonly owner_id: number;
  readonly value: number;
  readonly currency: string;
  readonly person_id: number | null;
  readonly org_id: number | null;
  readonly pipeline_id: number;
  readonly stage_id: number;
  readonly status: 'open' | 'won' | 'lost';
  readonly add_time: string;
  readonly update_time: string;
  readonly stage_change_time: string | null;
  readonly archive_time: string | null;
  readonly is_archived: boolean;
  readonly is_deleted: boolean;
  readonly probability: number | null;
  readonly lost_reason: string | null;
  readonly visible_to: number;
  readonly close_time: string | null;
  readonly won_time: string | null;
  readonly lost_time: string | null;
  readonly local_won_date: null;
  readonly local_lost_date: null;
  readonly local_close_date: null;
  readonly expected_close_date: string | null;
  readonly acv: null;
  readonly arr: null;
  readonly mrr: null;
  readonly label_ids: readonly number[];
  readonly origin: 'API';
  readonly origin_id: null;
  readonly channel: null;
  readonly channel_id: null;
  readonly source_lead_id: null;
  readonly custom_fields: FieldValues;
}

/** A note as stored, which is how v1 answers it. */
export interface Note {
  readonly id: number;
  readonly content: string;
  readonly lead_id: string | null;
  readonly deal_id: number | null;
  readonly person_id: number | null;
  readonly org_id: number | null;
  readonly user_id: number;
  readonly active_flag: true;
  readonly add_time: string;
  readonly update_time: string;
}
