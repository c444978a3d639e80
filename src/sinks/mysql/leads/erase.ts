import type { Session } from '../connection/session.ts';
import type { OwnTables } from '../schema/own-tables.ts';
import { conditionsFor, type LeadRef } from './rows-of-leads.ts';

/** Deletes leads and their answers, inside the caller's transaction. Returns the number of rows that it deleted. */
export async function eraseLeads(
  session: Session,
  { leads, answers }: OwnTables,
  refs: readonly LeadRef[],
): Promise<number> {
  let rows = 0;
  // Delete the lead first: this statement waits for a transaction that is writing the lead and its answers.
  for (const { where, values } of conditionsFor(refs))
    rows += await session.run(`DELETE FROM ${leads.sql} WHERE ${where}`, values);
  for (const { where, values } of conditionsFor(refs, 'lead_id'))
    rows += await session.run(`DELETE FROM ${answers.sql} WHERE ${where}`, values);
  return rows;
}
