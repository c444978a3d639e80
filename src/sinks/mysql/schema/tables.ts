import type { Session } from '../connection/session.ts';
import { quoted } from '../sql/identifier.ts';
import { requireOwn } from './inspect.ts';
import { createStatement, type OwnTable, type OwnTables } from './own-tables.ts';

/** Creates the tables that are missing. Two processes may do so at the same time. @throws SinkUnavailable, or the error from the server */
export async function createTables(session: Session, { leads, answers }: OwnTables): Promise<void> {
  for (const table of [leads, answers])
    if (!(await requireOwn(session, table))) await session.define(createStatement(table));
}

/** Returns those of the tables that do not exist. @throws SinkUnavailable if one is not leadsync's */
export async function missingTables(
  session: Session,
  { leads, answers }: OwnTables,
): Promise<readonly OwnTable[]> {
  const missing: OwnTable[] = [];
  for (const table of [leads, answers]) if (!(await requireOwn(session, table))) missing.push(table);
  return missing;
}

/**
 * Verifies that this user may write and erase leads and may create what is missing, with statements that change no row. MySQL verifies the
 * right to create a table only when it creates one; MariaDB does so when it prepares the statement.
 * @throws the error from the server
 */
export async function tryRights(session: Session, tables: OwnTables): Promise<void> {
  const missing = await missingTables(session, tables);
  for (const table of [tables.leads, tables.answers]) {
    if (missing.includes(table)) await session.prepare(createStatement(table));
    else await tryTable(session, table);
  }
}

async function tryTable(session: Session, { sql, columns }: OwnTable): Promise<void> {
  const names = Object.keys(columns).map(quoted).join(', ');
  const [key = ''] = Object.keys(columns).map(quoted);
  await session.define(
    `INSERT INTO ${sql} (${names}) SELECT ${names} FROM ${sql} AS stored WHERE FALSE ON DUPLICATE KEY UPDATE ${key} = VALUES(${key})`,
  );
  await session.define(`DELETE FROM ${sql} WHERE FALSE`);
}
