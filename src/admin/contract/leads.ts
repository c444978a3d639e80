import { z } from 'zod';
import { AttemptRow, DeliveryRow } from './deliveries.ts';
import { count, leadId, time } from './values.ts';

/**
 * Filter for leads; a lead must match every field. `since` and `until` compare the time when the lead was first seen. With a
 * `service` and no `lead`, they compare the time when the lead came to that service; with `listing=gone`, the time of the first complete
 * listing without the lead.
 */
export const LeadSearch = z.object({
  source: z.string().optional(),
  lead: leadId.optional(),
  service: z.string().optional(),
  /** Whether the source still lists the lead. With `gone`, the leads that disappeared most recently come first. */
  listing: z.enum(['current', 'gone']).optional(),
  /** Whether every sink to which the lead is or was owed has it. leadsync reads at most 5,000 leads for one page. */
  delivered: z.enum(['everywhere', 'not-everywhere']).optional(),
  /** Inclusive start of the time range; `until` is its exclusive end. */
  since: time.optional(),
  until: time.optional(),
});

/** A lead without its content. */
export const LeadRow = z.object({
  source: z.string(),
  lead_id: leadId,
  service_slug: z.string().nullable(),
  version: count,
  created_at: time.nullable(),
  first_seen_at: time,
  changed_at: time,
  /** Time of the last complete listing with the lead; null while it is listed. */
  last_listed_at: time.nullable(),
  /** Time of the first complete listing without the lead; null while it is listed. */
  gone_at: time.nullable(),
  /** Number of sinks to which the lead is or was owed, except those for which it was skipped. */
  sinks: count,
  /** Number of these sinks for which the last delivery of the lead is delivered. */
  sinks_delivered: count,
  /** Number of these sinks for which the last delivery of the lead is dead. */
  sinks_dead: count,
});

/** The fields of a lead, in order. */
export const LEAD_COLUMNS = LeadRow.keyof().options;

/** Search for the leads of a person. Contains personal data. */
export const PersonSearch = z.object({
  /** Words of the client's name or email address, or digits of the phone number. */
  text: z.string().trim().min(2).max(200),
  source: z.string().optional(),
});

/** A lead, with the contact details from the newest version that matches. Contains personal data. */
const FoundLead = LeadRow.extend({
  client_name: z.string().nullable(),
  client_email: z.string().nullable(),
  client_phone_number: z.string().nullable(),
  matched_version: count,
});

/**
 * Leads that a search for a person found, sorted by the time when the matching version was recorded, newest first. A search reads a limited
 * number of versions: if `next` is set, versions recorded before `searched_until` have not been searched yet.
 */
export const FoundLeads = z.object({
  rows: z.array(FoundLead).readonly(),
  next: z.string().nullable(),
  searched_until: time.nullable(),
});

/** A version of a lead, without its content. */
const Version = z.object({
  version: count,
  valid_from: time,
  poll_id: z.int(),
  /** Null for the first version. */
  changed_fields: z.array(z.string()).nullable(),
});

/**
 * History of one lead: versions and deliveries, newest first, and the attempts of each delivery, oldest first.
 */
export const LeadDetail = z.object({
  lead: LeadRow,
  versions: z.array(Version),
  deliveries: z.array(DeliveryRow.extend({ attempt_rows: z.array(AttemptRow) })),
});

/**
 * Personal data: the content of a lead in one version, and the answers of destinations, which may repeat that content. The audit log
 * records each client that reads this data.
 */
export const Content = z.object({
  source: z.string(),
  lead_id: leadId,
  ...Version.shape,
  /** JSON text as the service listed it. */
  raw: z.string(),
  /** JSON text of the previous version; null for the first. */
  raw_before: z.string().nullable(),
  /** The newest answers, newest first, each truncated as in the ledger. */
  answers: z.array(
    z.object({
      delivery_id: z.string(),
      sink: z.string(),
      started_at: time,
      outcome: z.string(),
      http_status: z.int().nullable(),
      answer: z.string(),
    }),
  ),
});

export type LeadSearch = z.infer<typeof LeadSearch>;
export type LeadRow = z.infer<typeof LeadRow>;
export type LeadDetail = z.infer<typeof LeadDetail>;
export type Content = z.infer<typeof Content>;
export type PersonSearch = z.infer<typeof PersonSearch>;
export type FoundLeads = z.infer<typeof FoundLeads>;
