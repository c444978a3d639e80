import type { ClientBase } from 'pg';
import { quoted } from '../../../postgres/identifier.ts';

/** Maximum wait for a lock on a table. If the wait is too long, the next start tries again. */
const PATIENCE = '200ms';

/** Runs statements that update comments. Throws after a short wait if another transaction has locked a table, because comments are not urgent. */
export async function writeComments(
  client: ClientBase,
  schema: string,
  statements: readonly string[],
): Promise<void> {
  await client.query(`SET LOCAL search_path = ${quoted(schema)}; SET LOCAL lock_timeout = '${PATIENCE}'`);
  await client.query(statements.join(';\n'));
}
