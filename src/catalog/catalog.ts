import { answers } from './queries/answers.ts';
import { hourOfWeek } from './queries/hour-of-week.ts';
import { leadAsOf } from './queries/lead-as-of.ts';
import { leadsByDay } from './queries/leads-by-day.ts';
import { missing } from './queries/missing.ts';
import { pipeAlive } from './queries/pipe-alive.ts';
import { quietHours } from './queries/quiet-hours.ts';
import { reachability } from './queries/reachability.ts';
import { rejects } from './queries/rejects.ts';
import { repeatClients } from './queries/repeat-clients.ts';
import { speedToLead } from './queries/speed-to-lead.ts';
import { stuck } from './queries/stuck.ts';
import type { Query } from './query.ts';
import type { Relation } from './relation.ts';
import { tables } from './tables.ts';
import { views } from './views.ts';

/** Every documented query. A new query needs an import and an entry in this list. */
export const queries: readonly Query[] = [
  leadsByDay,
  speedToLead,
  stuck,
  answers,
  repeatClients,
  hourOfWeek,
  reachability,
  leadAsOf,
  pipeAlive,
  quietHours,
  rejects,
  missing,
];

/** Every public table and view. */
export const relations: readonly Relation[] = [...tables, ...views];

/**
 * The relations without personal data, to which `deploy/postgres/analyst-role.sql` grants access. That role may read no other relations.
 */
export const openToAnalysts: readonly string[] = [
  'polls',
  ...views.map(({ name }) => name).filter((name) => name !== 'v_leads'),
];

/** Whether a documented query reads only relations that analysts may read. */
export function isOpenToAnalysts(sql: string): boolean {
  const closed = relations.filter(({ name }) => !openToAnalysts.includes(name));
  return !closed.some(({ name }) => new RegExp(`\\b(FROM|JOIN) ${name}\\b`).test(sql));
}
