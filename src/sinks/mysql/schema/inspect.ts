import { SinkUnavailable } from '../../sink-unavailable.ts';
import type { Session } from '../connection/session.ts';
import { quoted } from '../sql/identifier.ts';
import type { OwnTable } from './own-tables.ts';

/** A column of a table, as the server describes it. */
export interface FoundColumn {
  /** The name in lower case, because MySQL ignores case in column names. */
  readonly key: string;
  readonly name: string;
  /** The full type, such as `varchar(20)`. `json` also in MariaDB, which stores JSON as text with a check. */
  readonly type: string;
}

/** Returns the columns of a table in their order; empty if the table does not exist or this user has no right to it. */
export async function columnsOf(session: Session, { stored }: OwnTable): Promise<readonly FoundColumn[]> {
  const rows = await session.rows(
    `SELECT COLUMN_NAME AS name, COLUMN_TYPE AS type FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ? ORDER BY ORDINAL_POSITION`,
    [stored],
  );
  const json = session.isMariaDb ? await jsonColumns(session, stored) : new Set<string>();
  return rows.map(({ name, type }) => {
    const text = String(name);
    return { key: text.toLowerCase(), name: text, type: json.has(text) ? 'json' : String(type) };
  });
}

/** Returns the columns whose values MariaDB checks for valid JSON. */
async function jsonColumns(session: Session, table: string): Promise<ReadonlySet<string>> {
  const rows = await session.rows(
    `SELECT CONSTRAINT_NAME AS name FROM information_schema.CHECK_CONSTRAINTS
    WHERE CONSTRAINT_SCHEMA = DATABASE() AND TABLE_NAME = ? AND CHECK_CLAUSE LIKE 'json_valid(%'`,
    [table],
  );
  return new Set(rows.map(({ name }) => String(name)));
}

/**
 * Returns whether a table exists. If it does, verifies that it is leadsync's: that it has the columns and the key, and supports transactions.
 * @throws SinkUnavailable with the statement that corrects the table
 */
export async function requireOwn(session: Session, table: OwnTable): Promise<boolean> {
  const found = await columnsOf(session, table);
  if (found.length === 0) return false;
  const names = new Set(found.map(({ key }) => key));
  const missing = Object.keys(table.columns).filter((name) => !names.has(name));
  if (missing.length > 0) throw lacksColumns(table, missing, names);
  const keys = await session.rows(
    `SELECT INDEX_NAME AS name, GROUP_CONCAT(COLUMN_NAME ORDER BY SEQ_IN_INDEX) AS columns FROM information_schema.STATISTICS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ? AND NON_UNIQUE = 0 GROUP BY INDEX_NAME`,
    [table.stored],
  );
  const key = table.key.map(quoted).join(', ');
  if (!keys.some(({ columns }) => String(columns).toLowerCase() === table.key.join(',')))
    throw new SinkUnavailable(
      `${table.sql} has no unique key (${key}), by which leadsync recognises a lead.`,
      {
        hint: `Run as its owner: ALTER TABLE ${table.sql} ADD UNIQUE KEY leadsync_key (${key})`,
      },
    );
  const [engine] = await session.rows(
    `SELECT t.ENGINE AS name FROM information_schema.TABLES t JOIN information_schema.ENGINES e ON e.ENGINE = t.ENGINE
    WHERE t.TABLE_SCHEMA = DATABASE() AND t.TABLE_NAME = ? AND e.TRANSACTIONS = 'NO'`,
    [table.stored],
  );
  if (engine)
    throw new SinkUnavailable(`${table.sql} has the engine ${engine['name']}, which has no transactions.`, {
      hint: `Run as its owner: ALTER TABLE ${table.sql} ENGINE=InnoDB`,
    });
  return true;
}

function lacksColumns(
  table: OwnTable,
  missing: readonly string[],
  names: ReadonlySet<string>,
): SinkUnavailable {
  const isOurs = [...names].some((name) => name.startsWith('_leadsync_'));
  if (!isOurs && table.name === 'leads')
    return new SinkUnavailable(`${table.sql} is a table that leadsync did not create.`, {
      hint: `Set \`prefix\` to give leadsync's tables other names, or rename that table: RENAME TABLE ${table.sql} TO ${table.sql.slice(0, -1)}_old\``,
    });
  const columns = missing.map((name) => `ADD COLUMN ${quoted(name)} ${table.columns[name]}`);
  return new SinkUnavailable(`${table.sql} lacks columns that leadsync writes: ${missing.join(', ')}.`, {
    hint: `If it is leadsync's table, run as its owner: ALTER TABLE ${table.sql} ${columns.join(', ')}. Otherwise set \`prefix\`.`,
  });
}
