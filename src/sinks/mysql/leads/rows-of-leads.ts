import type { Row, Session, Value } from '../connection/session.ts';

/** The key of a lead, for statements. */
export interface LeadRef {
  readonly source: string;
  /** Digits. */
  readonly id: string;
}

/** Maximum number of leads in one condition. MariaDB converts a longer list to a table, and then does not use the key. */
const LEADS_AT_ONCE = 500;

/** Returns the key of a lead as one string. */
export function keyOf({ source, id }: LeadRef): string {
  return `${source} ${id}`;
}

/** A condition for leads of one source, with its values. */
interface Condition {
  readonly where: string;
  readonly values: readonly Value[];
}

/**
 * Returns conditions that select leads by the columns `source` and `idColumn`. The ids are cast, because MySQL would compare text with a
 * number as doubles, which are not exact.
 */
export function conditionsFor(leads: readonly LeadRef[], idColumn = 'id'): readonly Condition[] {
  const conditions: Condition[] = [];
  for (const [source, ofSource] of Map.groupBy(leads, (lead) => lead.source))
    for (let at = 0; at < ofSource.length; at += LEADS_AT_ONCE) {
      const ids = ofSource.slice(at, at + LEADS_AT_ONCE).map(({ id }) => id);
      const list = ids.map(() => 'CAST(? AS SIGNED)').join(', ');
      conditions.push({ where: `source = ? AND ${idColumn} IN (${list})`, values: [source, ...ids] });
    }
  return conditions;
}

/** Returns the rows of leads. `select` returns the statement for a condition. */
export async function rowsOfLeads(
  session: Session,
  leads: readonly LeadRef[],
  select: (where: string) => string,
  idColumn = 'id',
): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (const { where, values } of conditionsFor(leads, idColumn))
    rows.push(...(await session.rows(select(where), values)));
  return rows;
}
