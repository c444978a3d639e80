import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { aBatch } from '../../../support/scene/a-delivery.ts';
import { requireDatabaseUrl, uniqueName } from '../../../support/servers/services.ts';
import { openPostgres } from '../database.ts';

const SCHEMA = 'leadsync';
const NEVER = new AbortController().signal;

type Query = (sql: string) => Promise<Record<string, unknown>[]>;

test.each([
  ['by its role is committed with it on', 'off', 'role', 'on'],
  ['by its database is committed with it on', 'off', 'database', 'on'],
  ['by the address of the sink is committed with it on', 'off', 'address', 'on'],
  ['that waits only for the local disk keeps it', 'local', 'role', 'local'],
  ['that waits for standbys to apply it keeps it', 'remote_apply', 'role', 'remote_apply'],
])(
  'the commit of a connection whose synchronous_commit is set %s',
  async (_, value, where, committedWith) => {
    const database = await aDatabase();
    const stored = await storeOne(database.url.href);
    expect(stored).toEqual([{ kind: 'delivered' }]);
    await database.query(NOTING);
    if (where === 'database')
      await database.query(`ALTER DATABASE ${database.name} SET synchronous_commit = ${value}`);
    if (where === 'role')
      await database.query(
        `ALTER ROLE CURRENT_USER IN DATABASE ${database.name} SET synchronous_commit = ${value}`,
      );
    if (where === 'address') database.url.searchParams.set('options', `-c synchronous_commit=${value}`);
    expect(await database.newConnection('SHOW synchronous_commit')).toEqual([{ synchronous_commit: value }]);
    await storeOne(database.url.href, 2);
    expect(await database.query('SELECT setting FROM public.noted')).toEqual([{ setting: committedWith }]);
  },
);

/** Notes the setting when a transaction that stores leads is committed. */
const NOTING = `
  CREATE TABLE public.noted (setting text);
  CREATE FUNCTION public.note() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN INSERT INTO public.noted VALUES (current_setting('synchronous_commit')); RETURN NULL; END $$;
  CREATE CONSTRAINT TRIGGER note AFTER INSERT ON ${SCHEMA}.leads DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION public.note()`;

/** Stores the lead with this id, over connections of its own. */
async function storeOne(url: string, id = 1) {
  const sink = openPostgres({ url, schema: SCHEMA });
  try {
    const { deliveries } = aBatch(id);
    return await sink.deliver(aBatch(deliveries.slice(-1)), NEVER);
  } finally {
    await sink.close();
  }
}

/** A database for one test, whose settings affect no other test. */
async function aDatabase() {
  const name = uniqueName('durable');
  const shared = requireDatabaseUrl();
  const url = new URL(shared);
  url.pathname = `/${name}`;
  await queryOver(shared)(`CREATE DATABASE ${name}`);
  onTestFinished(async () => void (await queryOver(shared)(`DROP DATABASE ${name} WITH (FORCE)`)));
  return { name, url, query: queryOver(url.href), newConnection: (sql: string) => queryOver(url.href)(sql) };
}

function queryOver(url: string): Query {
  return async (sql) => {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    try {
      return (await client.query<Record<string, unknown>>(sql)).rows;
    } finally {
      await client.end();
    }
  };
}
