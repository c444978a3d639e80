import { SinkUnavailable } from '../../sink-unavailable.ts';
import type { Session } from '../connection/session.ts';
import { placeholders } from '../sql/identifier.ts';
import { statementParts } from '../sql/statement-rows.ts';
import type { LeadValues } from './lead-values.ts';
import { conditionsFor, keyOf, type LeadRef, rowsOfLeads } from './rows-of-leads.ts';

const COLUMNS = ['source', 'lead_id', 'position', 'question', 'slug', 'answer'];

/**
 * Writes the answers of leads, and removes surplus answers from earlier versions. Runs inside the transaction that wrote the leads, which has
 * locked their rows.
 * @throws SinkUnavailable if the table has an answer twice, or the error from the server
 */
export async function writeAnswers(
  session: Session,
  table: string,
  leads: readonly LeadValues[],
): Promise<void> {
  const keyed = leads
    .map(({ columns, answers }) => ({
      ref: { source: String(columns.source), id: String(columns.id) },
      answers,
    }))
    .map((lead) => ({ ...lead, key: keyOf(lead.ref) }))
    .sort((a, b) => (a.key < b.key ? -1 : 1));
  const counts = new Map(keyed.map(({ key, answers }) => [key, answers.length]));
  await removeSurplus(
    session,
    table,
    keyed.map(({ ref }) => ref),
    counts,
  );
  const rows = keyed.flatMap(({ ref, answers }) =>
    answers.map(({ question, slug, answer }, position) => [
      ref.source,
      ref.id,
      position,
      question,
      slug,
      answer,
    ]),
  );
  for (const part of statementParts(rows, session.maxPacketBytes))
    await session.run(
      `INSERT INTO ${table} (${COLUMNS.join(', ')}) VALUES ${placeholders(part.length, COLUMNS.length)}
      ON DUPLICATE KEY UPDATE question = VALUES(question), slug = VALUES(slug), answer = VALUES(answer)`,
      part.flat(),
    );
  if (rows.length > 0)
    await requireOnce(
      session,
      table,
      keyed.map(({ ref }) => ref),
    );
}

/** @throws SinkUnavailable if the table has an answer twice */
async function requireOnce(session: Session, table: string, leads: readonly LeadRef[]): Promise<void> {
  const twice = await rowsOfLeads(
    session,
    leads,
    (where) =>
      `SELECT source, lead_id FROM ${table} WHERE ${where} GROUP BY source, lead_id HAVING COUNT(*) > MAX(position) + 1`,
    'lead_id',
  );
  if (twice.length > 0) throw lostKey(table);
}

/** Returns the error for a table that has a lead or an answer twice, because its unique key was dropped while leads were written. */
export function lostKey(table: string): SinkUnavailable {
  return new SinkUnavailable(`${table} has lost its unique key: leadsync was about to write a row twice.`, {
    hint: 'Nothing was written. `leadsync check` and the error of the next attempt show the statement that adds the key.',
  });
}

/**
 * Removes the answers of leads that have more rows than answers. Reads first, because a DELETE without matches locks gaps that other writers
 * need.
 */
async function removeSurplus(
  session: Session,
  table: string,
  leads: readonly LeadRef[],
  counts: ReadonlyMap<string, number>,
): Promise<void> {
  const stored = await rowsOfLeads(
    session,
    leads,
    (where) =>
      `SELECT source, lead_id AS id, MAX(position) AS last FROM ${table} WHERE ${where} GROUP BY source, lead_id`,
    'lead_id',
  );
  const surplus = stored
    .map((row) => ({ source: String(row['source']), id: String(row['id']), last: Number(row['last']) }))
    .filter((lead) => lead.last >= (counts.get(keyOf(lead)) ?? 0));
  for (const { where, values } of conditionsFor(surplus, 'lead_id'))
    await session.run(`DELETE FROM ${table} WHERE ${where}`, values);
}
