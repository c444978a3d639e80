import { z } from 'zod';
import { time } from './values.ts';

/** Filter for the audit log; a line must match every field. `since` and `until` compare the time when the line was written. */
export const AuditFilter = z.object({
  who: z.string().max(200).optional(),
  what: z.string().max(100).optional(),
  since: time.optional(),
  until: time.optional(),
});

/** The actions that leadsync records, in alphabetical order. A ledger of an earlier version may have others. */
export const ACTIONS = [
  'backup',
  'cancel-replay',
  'discard',
  'erase',
  'export',
  'export-subject',
  'find',
  'forget',
  'ledger-accept',
  'ledger-copy',
  'login',
  'login refused',
  'moved',
  'pause',
  'poll',
  'query',
  'recover',
  'reload',
  'replay',
  'restore',
  'resume',
  'retry',
  'reveal',
  'setup',
  'source-login',
  'test',
  'test-alert',
  'token refused',
] as const;

/** A line of the audit log: who did what. Contains no lead content and no secret. */
export const AuditRow = z.object({
  /** Cursor of the line. */
  id: z.string(),
  at: time,
  /** The person or program; null for a line about an unknown client, for example one that sent a wrong token. */
  who: z.string().nullable(),
  /** The credential or interface that was used, such as `token`, `session`, `cli` or `loopback`. */
  via: z.string().nullable(),
  what: z.string(),
  address: z.string().nullable(),
  /** What the action selected: sink, source, lead, number of ids … */
  details: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
});

/** The fields of a line, in order. */
export const AUDIT_COLUMNS = AuditRow.keyof().options;

export type AuditFilter = z.infer<typeof AuditFilter>;
export type AuditRow = z.infer<typeof AuditRow>;
