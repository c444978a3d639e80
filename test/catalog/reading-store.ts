import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import pg from 'pg';
import { onTestFinished } from 'vitest';
import { aListedLead } from '../support/scene/a-lead.ts';
import { uniqueName } from '../support/servers/services.ts';
import { eventful } from './eventful-store.ts';
import type { TwoStores } from './two-stores.ts';

const SCRIPTS = join(import.meta.dirname, '../../deploy/postgres');

/** A store in which things happened, the last of them a lead that was created after the first poll and delivered within a second. */
export async function withFreshLead(): Promise<TwoStores> {
  const stores = await eventful();
  stores.on.clock.jump(1_000);
  const createdAt = stores.on.clock.now().toISOString();
  stores.on.clock.jump(1_000);
  await stores.list([aListedLead({ id: 4_711, created_at: createdAt })]);
  await stores.bring();
  return stores;
}

/** Asks PostgreSQL as the user that the two scripts make for tools that only look. `more`: further psql variables. */
export async function asReader(
  stores: TwoStores,
  more: readonly string[] = [],
): Promise<(sql: string) => Promise<pg.QueryResult>> {
  const { url, schema } = stores.postgres;
  const [role, user] = [uniqueName('analyst'), uniqueName('reader')];
  for (const file of ['analyst-role.sql', 'reader-login.sql']) {
    const variables = ['-v', `schema=${schema}`, '-v', `role=${role}`, '-v', `user=${user}`];
    variables.push(...more.flatMap((one) => ['-v', one]));
    execFileSync('psql', [url, '-qX', ...variables, '-f', join(SCRIPTS, file)], {
      env: { ...process.env, READER_PASSWORD: 'secret' },
      stdio: 'pipe',
    });
  }
  const address = new URL(url);
  [address.username, address.password] = [user, 'secret'];
  const client = new pg.Client({ connectionString: address.href });
  await client.connect();
  onTestFinished(async () => {
    await client.end();
    await stores.postgres.query(`DROP OWNED BY ${role}`);
    await stores.postgres.query(`DROP ROLE ${user}, ${role}`);
  });
  return (sql) => client.query(sql);
}
