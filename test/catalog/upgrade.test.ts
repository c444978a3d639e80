import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { migrations } from '../../src/sinks/postgres/schema/migrations.ts';
import type { Sink } from '../../src/sinks/sink.ts';
import { type Database, openPostgres, startDatabase } from '../sinks/postgres/database.ts';
import { aBatch, aDelivery } from '../support/scene/a-delivery.ts';
import { uniqueName } from '../support/servers/services.ts';

const NEVER = new AbortController().signal;

let database: Database;
let sink: Sink;

beforeEach(() => {
  database = startDatabase();
  sink = openPostgres({ url: database.url, schema: database.schema });
});

afterEach(async () => {
  await sink.close();
  await database.close();
});

/** Creates the schema of the first version, with a lead and a view that a user created. */
async function firstVersion(): Promise<void> {
  await database.query(`CREATE SCHEMA ${database.schema}`);
  await database.query(migrations[0] ?? '');
  await database.query(
    'CREATE TABLE _leadsync_migrations (version integer PRIMARY KEY, applied_at timestamptz NOT NULL, applied_by text NOT NULL)',
  );
  await database.query("INSERT INTO _leadsync_migrations VALUES (1, now(), 'leadsync/0.1.0')");
  await database.query(
    `INSERT INTO leads SELECT 'main', 7, '', '', now(), '', '', '', NULL, '', '[]', '{}', now(), now(), now(), now(), 1, '', '{}', false`,
  );
  await database.query('CREATE VIEW mine AS SELECT count(*) FROM v_leads');
}

it('an older schema is migrated with its rows and the views of other users', async () => {
  await firstVersion();
  expect(await sink.deliver(aBatch(1), NEVER)).toEqual([{ kind: 'delivered' }]);
  expect(await database.query('SELECT id FROM v_leads_no_pii ORDER BY id')).toEqual([
    { id: '1' },
    { id: '7' },
  ]);
  expect(await database.query('SELECT count FROM mine')).toEqual([{ count: '2' }]);
});

it('an older schema in which a new name is taken is not migrated; the error names it', async () => {
  await firstVersion();
  await database.query('CREATE TABLE polls (mine text)');
  for (const work of [() => sink.check(NEVER), () => sink.deliver(aBatch(1), NEVER)]) {
    const error = await work().catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      message: expect.stringContaining('"polls", which leadsync did not create'),
      hint: expect.stringContaining('rename that'),
    });
  }
  expect(await database.query('SELECT version FROM _leadsync_migrations')).toEqual([{ version: 1 }]);
});

it('leadsync ignores other tables in the schema', async () => {
  await firstVersion();
  await database.query('CREATE TABLE targets (mine text)');
  expect(await sink.deliver(aBatch(1), NEVER)).toEqual([{ kind: 'delivered' }]);
});

it('the leads wait if the role does not own the older schema; the error says so', async () => {
  await firstVersion();
  await withRole(async (role, own) => {
    await database.query(`GRANT USAGE, CREATE ON SCHEMA ${database.schema} TO ${role}`);
    await database.query(`GRANT ALL ON ALL TABLES IN SCHEMA ${database.schema} TO ${role}`);
    const error = await own.deliver(aBatch(1), NEVER).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ message: expect.stringMatching(/SQLSTATE 42501.*must be owner of/) });
  });
});

it('deliveries and the check report each right that a role lacks to create the tables', async () => {
  await withRole(async (role, own) => {
    const lacking = async (right: string) => {
      for (const work of [() => own.check(NEVER), () => own.deliver(aBatch(1), NEVER)])
        expect(await work().catch((thrown: unknown) => thrown)).toMatchObject({
          message: `The PostgreSQL user has no right to ${right.replace(' ON ', ' on ')}.`,
          hint: `GRANT ${right} TO that user.`,
        });
    };
    await lacking('CREATE ON the DATABASE');
    await database.query(`CREATE SCHEMA ${database.schema}`);
    await lacking(`USAGE ON SCHEMA "${database.schema}"`);
    await database.query(`GRANT USAGE ON SCHEMA ${database.schema} TO ${role}`);
    await lacking(`CREATE ON SCHEMA "${database.schema}"`);
    await database.query(`GRANT CREATE ON SCHEMA ${database.schema} TO ${role}`);
    expect(await own.deliver(aBatch(1), NEVER)).toEqual([{ kind: 'delivered' }]);
  });
});

it('a role that may only write leads delivers; the check, the mirror and an erasure report what it lacks', async () => {
  await sink.deliver(aBatch(1), NEVER);
  await withRole(async (role, own) => {
    await database.query(`GRANT USAGE ON SCHEMA ${database.schema} TO ${role}`);
    await database.query(`GRANT SELECT ON _leadsync_migrations TO ${role}`);
    await database.query(`GRANT SELECT, INSERT, UPDATE ON leads TO ${role}`);
    expect(await own.deliver(aBatch([aDelivery({ leadId: 2n })]), NEVER)).toEqual([{ kind: 'delivered' }]);
    const lacking = {
      message: expect.stringContaining('no right to DELETE on'),
      hint: expect.stringMatching(/^GRANT/),
    };
    expect(await own.check(NEVER).catch((error: unknown) => error)).toMatchObject(lacking);
    const write = own.mirror?.lastNumber('a-ledger', 'polls', NEVER);
    expect(await write?.catch((error: unknown) => error)).toMatchObject({
      message: expect.stringContaining('permission denied for table _ledgers'),
    });
    const erased = own.erase?.({ leads: [{ source: 'main', leadId: 2n }], rejected: [] }, NEVER);
    expect(await erased?.catch((error: unknown) => error)).toMatchObject({
      message: expect.stringMatching(/SQLSTATE 42501.*permission denied for table leads/),
      hint: 'Grant the user that right.',
    });
  });
});

describe('comments of an earlier version', () => {
  const WORDS = `SELECT obj_description('leads'::regclass) AS leads, obj_description('v_leads'::regclass) AS view, col_description('polls'::regclass, 1) AS "column"`;

  async function oldWords(): Promise<unknown> {
    await sink.deliver(aBatch(1), NEVER);
    const words = await database.query(WORDS);
    await database.query(
      `COMMENT ON TABLE leads IS 'old'; COMMENT ON VIEW v_leads IS 'old'; COMMENT ON COLUMN polls.poll_id IS NULL`,
    );
    return words;
  }

  async function deliverAnew(): Promise<void> {
    const later = openPostgres({ url: database.url, schema: database.schema });
    expect(await later.deliver(aBatch(1), NEVER)).toEqual([{ kind: 'delivered' }]);
    await later.close();
  }

  it('are replaced by those of this version', async () => {
    const words = await oldWords();
    await deliverAnew();
    expect(await database.query(WORDS)).toEqual(words);
  });

  it('stay if the role may not change them, without delaying a lead', async () => {
    await oldWords();
    await withRole(async (role, own) => {
      await database.query(`GRANT USAGE ON SCHEMA ${database.schema} TO ${role}`);
      await database.query(`GRANT ALL ON ALL TABLES IN SCHEMA ${database.schema} TO ${role}`);
      expect(await own.deliver(aBatch(1), NEVER)).toEqual([{ kind: 'delivered' }]);
    });
    expect(await database.query(WORDS)).toEqual([{ leads: 'old', view: 'old', column: null }]);
  });

  it('stay while another session locks a table, for example to vacuum it, without delaying a lead', async () => {
    await oldWords();
    const vacuum = new pg.Client({ connectionString: database.url });
    await vacuum.connect();
    await vacuum.query(`BEGIN; LOCK TABLE ${database.schema}.leads IN SHARE UPDATE EXCLUSIVE MODE`);
    await deliverAnew();
    await vacuum.end();
    expect(await database.query(WORDS)).toEqual([{ leads: 'old', view: 'old', column: null }]);
  });
});

async function withRole(use: (role: string, own: Sink) => Promise<void>): Promise<void> {
  const role = uniqueName('role');
  const url = new URL(database.url);
  url.username = role;
  url.password = 'secret-canary';
  await database.query(`CREATE ROLE ${role} LOGIN PASSWORD 'secret-canary'`);
  const own = openPostgres({ url: url.href, schema: database.schema });
  try {
    await use(role, own);
  } finally {
    await own.close();
    await database.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
  }
}
