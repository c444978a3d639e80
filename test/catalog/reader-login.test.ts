import { describe, expect, it, onTestFinished } from 'vitest';
import { uniqueName } from '../support/servers/services.ts';
import { asReader } from './reading-store.ts';
import { TwoStores } from './two-stores.ts';

/** The schema as a sink leaves it, without leads. */
async function withSchema(): Promise<TwoStores> {
  const stores = await TwoStores.open();
  await stores.bring();
  return stores;
}

describe('the user of deploy/postgres/reader-login.sql', () => {
  it('is read-only and has a statement timeout by default, and may change both in its session', async () => {
    const ask = await asReader(await withSchema());
    const { rows } = await ask('SHOW statement_timeout');
    expect(rows).toEqual([{ statement_timeout: '15s' }]);
    await expect(ask('CREATE TEMP TABLE t (a int)')).rejects.toThrow('read-only transaction');
    await ask('SET default_transaction_read_only = off');
    await ask('SET statement_timeout = 0');
    await ask('CREATE TEMP TABLE t (a int)');
  });

  it('creates no temporary table if no_temp revokes that right from PUBLIC', async () => {
    const stores = await withSchema();
    const [database] = await stores.postgres.query('SELECT quote_ident(current_database()) AS name');
    onTestFinished(async () => {
      await stores.postgres.query(`GRANT TEMPORARY ON DATABASE ${database?.['name']} TO PUBLIC`);
    });
    const ask = await asReader(stores, ['no_temp=on']);
    await ask('SET default_transaction_read_only = off');
    await expect(ask('CREATE TEMP TABLE t (a int)')).rejects.toThrow(
      'permission denied to create temporary tables',
    );
    expect((await ask('SELECT count(*) AS n FROM v_leads_no_pii')).rows).toEqual([{ n: '0' }]);
  });

  it('is rejected if another role still lets it create temporary tables', async () => {
    const stores = await withSchema();
    const { query } = stores.postgres;
    const [role, user] = [uniqueName('analyst'), uniqueName('reader')];
    const [database] = await query('SELECT quote_ident(current_database()) AS name');
    await query(`CREATE ROLE ${role}; GRANT TEMPORARY ON DATABASE ${database?.['name']} TO ${role}`);
    onTestFinished(async () => {
      await query(`GRANT TEMPORARY ON DATABASE ${database?.['name']} TO PUBLIC`);
      await query(`DROP OWNED BY ${role}; DROP ROLE ${role}; DROP ROLE IF EXISTS ${user}`);
    });
    const asked = asReader(stores, [`role=${role}`, `user=${user}`, 'no_temp=on']);
    await expect(asked).rejects.toThrow('The user can still create temporary tables');
  });
});
