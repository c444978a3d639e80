/**
 * SQL for the stored rows that match the given ones, each looked up by itself through an index. As a plain join,
 * PostgreSQL reads the whole table for every part until it has statistics, and a first round fills new tables.
 */
export function rowsByIndex(table: string, given: string, condition: string): string {
  return `ANY (ARRAY(SELECT found.ctid FROM ${given}
    CROSS JOIN LATERAL (SELECT stored.ctid FROM ${table} stored WHERE ${condition} OFFSET 0) found))`;
}
