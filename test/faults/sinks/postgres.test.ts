import pg from 'pg';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { startProxy } from '../../sinks/postgres/proxy.ts';
import { aLead } from '../../support/scene/a-lead.ts';
import { aScene } from '../../support/scene/a-scene.ts';
import { accountOf, faultsOf } from '../../support/scene/oracle.ts';
import type { CarrierName, Scene } from '../../support/scene/scene.ts';
import { type PrivatePostgres, startPostgres } from '../../support/servers/private-postgres.ts';
import { uniqueName } from '../../support/servers/services.ts';
import { until } from '../../support/time/until.ts';
import { expectCalm } from '../calm.ts';
import { carriersOf, overCarriers } from '../over-carriers.ts';
import { deliveriesOf, logged, mustRun, statusOf, told } from '../telling.ts';

// Faults 29 to 31, against a PostgreSQL that belongs to this file: the tests kill it and revoke rights.

const EVENTS = ['created', 'updated'];
const SOON = { schedule: ['300ms', '1s', '1s', '1s'], jitter: 0 };

let postgres: PrivatePostgres;
beforeAll(async () => {
  postgres = await startPostgres();
});
afterAll(() => postgres?.close(), 60_000);

overCarriers('PostgreSQL in trouble, over the %s carrier', (carrier, test) => {
  test('29. killed during a transaction, or disconnected after COMMIT was sent, PostgreSQL has every row once', async () => {
    const { scene, proxy } = await aWarehouse(carrier);
    const daemon = await scene.start();
    await until('the first leads are everywhere', () => scene.complete(), 60_000);
    const holder = await connected();
    await holder.query(`BEGIN; LOCK TABLE ${scene.schema}.leads IN EXCLUSIVE MODE`);
    scene.stub.addLeads(30);
    await until('a transaction is under way', () => waitsForLock(), 30_000);
    await postgres.crash();
    await postgres.restart();
    await until('the leads are everywhere', () => scene.complete(), 90_000);
    const failures = logged(daemon, 'batch-settled', { sink: 'warehouse' }).length;
    expect(failures).toBeGreaterThan(0);
    proxy.cutAfterCommit();
    scene.stub.addLeads(30);
    await until('the answer to COMMIT was lost', async () => {
      return logged(daemon, 'batch-settled', { sink: 'warehouse' }).length > failures;
    });
    await until('the leads are everywhere', () => scene.complete(), 90_000);
    await expectCalm(daemon);
    expect(await answersThatAreNotThere(scene)).toEqual([]);
    expect(faultsOf(await accountOf(scene), { repeats: false })).toEqual([]);
  });

  test('29. after a deadlock and serialization failures, every row is there once, with its newest content', async () => {
    const { scene } = await aWarehouse(carrier);
    const daemon = await scene.start();
    await until('the first leads are everywhere', () => scene.complete(), 60_000);
    await deadlockWith(scene);
    await until('the changed leads are everywhere', () => scene.complete(), 60_000);
    const failed = await failNextInserts(scene, 5);
    scene.stub.addLeads(10);
    await until('the new leads are everywhere', () => scene.complete(), 60_000);
    expect(await failed()).toBeGreaterThanOrEqual(5);
    await expectCalm(daemon);
    expect(await answersThatAreNotThere(scene)).toEqual([]);
    expect(faultsOf(await accountOf(scene), { repeats: false })).toEqual([]);
  });
});

test.each(carriersOf(30))(
  '30. over the %s carrier, text that PostgreSQL cannot store is replaced as documented, ten megabytes are stored, and a lead that violates a constraint is refused alone',
  async (carrier) => {
    const { scene } = await aWarehouse(carrier);
    const daemon = await scene.start();
    await until('the first leads are everywhere', () => scene.complete(), 60_000);
    await scene.query(
      `ALTER TABLE ${scene.schema}.leads ADD CONSTRAINT somebody CHECK (client_name <> 'Nobody')`,
    );
    const answer = 'A long story. '.repeat(750_000);
    const odd = {
      nul: aLead({ id: 9_000_001, client_name: 'be\u0000fore' }),
      surrogate: aLead({ id: 9_000_002, client_name: 'be\ud800fore' }),
      huge: aLead({
        id: 9_000_003,
        service_question_answers: [{ question: 'Why?', slug: 'why', answer }],
      }),
      rejected: aLead({ id: 9_000_004, client_name: 'Nobody' }),
    };
    for (const text of Object.values(odd)) scene.stub.addRaw(text);
    const { reason } = await told(daemon, 'delivery-dead', { sink: 'warehouse' });
    expect(reason).toMatch(/SQLSTATE 23514.*somebody/);
    expect(reason).not.toContain('Nobody');
    const dead = await deliveriesOf(scene, '--state', 'dead');
    expect(dead.map(({ lead_id, sink }) => [lead_id, sink])).toEqual([['9000004', 'warehouse']]);
    const rows = await until('the others are stored', async () => {
      const stored = await scene.query<{ client_name: string; replaced: boolean; answer: number }>(
        `SELECT client_name, _leadsync_replaced AS replaced, max(length(answer)) AS answer FROM ${scene.schema}.leads
       JOIN ${scene.schema}.lead_answers a USING (source) WHERE id > 9000000 AND a.lead_id = id GROUP BY id, 1, 2 ORDER BY id`,
      );
      return stored.length === 3 ? stored : undefined;
    });
    expect(rows.map(({ client_name }) => client_name)).toEqual([
      'be\ufffdfore',
      'be\ufffdfore',
      'Anna Müller',
    ]);
    expect(rows.map(({ replaced }) => replaced)).toEqual([true, true, false]);
    expect(rows[2]?.answer).toBe(answer.length);
    await scene.query(`ALTER TABLE ${scene.schema}.leads DROP CONSTRAINT somebody`);
    await mustRun(scene, 'retry', '--sink', 'warehouse', '--state', 'dead');
    await until(
      'the rejected one is stored',
      async () => (await deliveriesOf(scene, '--state', 'dead', 'pending')).length === 0,
      60_000,
    );
    await expectCalm(daemon);
    expect(faultsOf(await accountOf(scene, { raw: Object.values(odd) }), { repeats: false })).toEqual([]);
  },
);

test.each(carriersOf(31))(
  '31. over the %s carrier, a lost right, a missing column or a dropped table holds the sink with that reason, and the sink continues once it is back',
  async (carrier) => {
    const role = uniqueName('app');
    const { scene } = await aWarehouse(carrier, role);
    const daemon = await scene.start();
    await until('the first leads are everywhere', () => scene.complete(), 60_000);
    const { schema } = scene;
    const faults = [
      [
        `REVOKE INSERT ON ${schema}.leads FROM ${role}`,
        `GRANT INSERT ON ${schema}.leads TO ${role}`,
        /42501.*leads/,
      ],
      [
        `ALTER TABLE ${schema}.leads RENAME COLUMN client_email TO gone`,
        `ALTER TABLE ${schema}.leads RENAME COLUMN gone TO client_email`,
        /42703.*client_email/,
      ],
      [`DROP TABLE ${schema}.leads CASCADE`, undefined, /42P01.*leads/],
    ] as const;
    for (const [breaking, mending, said] of faults) {
      const before = logged(daemon, 'sink-held').length;
      await scene.query(breaking);
      scene.stub.addLeads(5);
      await until('it is held', () => logged(daemon, 'sink-held').length > before, 60_000);
      const { warehouse, crm } = (await statusOf(scene)).sinks;
      expect(warehouse).toMatchObject({
        state: 'held',
        pending: 5,
        dead: 0,
        held_reason: expect.stringMatching(said),
      });
      expect(crm).toMatchObject({ state: 'healthy', dead: 0 });
      if (!mending) continue;
      await scene.query(mending);
      await mustRun(scene, 'resume', 'warehouse');
      await until('the leads are everywhere', () => scene.complete(), 60_000);
    }
    // Starting again, as the sink's README describes.
    await scene.query(`DROP SCHEMA ${schema} CASCADE`);
    await mustRun(scene, 'resume', 'warehouse');
    await mustRun(scene, 'replay', '--sink', 'warehouse', '--all', '--yes');
    await until('the leads are everywhere', () => scene.complete(), 60_000);
    await expectCalm(daemon);
    expect(await answersThatAreNotThere(scene)).toEqual([]);
    expect(faultsOf(await accountOf(scene), { repeats: false })).toEqual([]);
  },
);

/** Opens a scene whose warehouse is in this file's server, behind a proxy, and whose sinks receive changes. */
async function aWarehouse(
  carrier: CarrierName,
  user = 'leadsync',
): Promise<{ scene: Scene; proxy: Awaited<ReturnType<typeof startProxy>> }> {
  const url = new URL(postgres.url);
  url.username = user;
  if (user !== 'leadsync') {
    const client = await connected();
    await client.query(`CREATE ROLE ${user} LOGIN; GRANT CREATE ON DATABASE postgres TO ${user}`);
  }
  const proxy = await startProxy(url.href);
  onTestFinished(() => proxy.close());
  const scene = await aScene(carrier, {
    stub: { leads: 10 },
    source: { max_lead_size: '16mb' },
    databaseUrl: postgres.url,
    sinks: {
      crm: { events: EVENTS },
      drop: { events: EVENTS, batch: { max: 100, wait: '200ms' } },
      warehouse: { url: proxy.url, retry: SOON },
    },
  });
  return { scene, proxy };
}

/** Opens a connection for the test, which may be cut like any other. */
async function connected(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: postgres.url });
  client.on('error', () => undefined); // the test kills the server on purpose
  await client.connect();
  onTestFinished(() => client.end().catch(() => undefined));
  return client;
}

/** Whether a write of leads waits for a lock; the mirror's waits do not count. */
async function waitsForLock(): Promise<boolean> {
  const client = new pg.Client({ connectionString: postgres.url });
  await client.connect();
  try {
    const { rowCount } = await client.query(
      `SELECT 1 FROM pg_stat_activity
      WHERE application_name LIKE 'leadsync/%' AND wait_event_type = 'Lock' AND query ~ 'INSERT INTO \\S+\\.leads AS'`,
    );
    return rowCount !== null && rowCount > 0;
  } finally {
    await client.end();
  }
}

/** Makes leadsync and another transaction wait for each other, so that PostgreSQL aborts leadsync's. */
async function deadlockWith({ schema, stub, query }: Scene): Promise<void> {
  const deadlocks = async () => {
    await query('SELECT pg_stat_force_next_flush()').catch(() => []);
    const sql = 'SELECT deadlocks::int FROM pg_stat_database WHERE datname = current_database()';
    return (await query<{ deadlocks: number }>(sql))[0]?.deadlocks ?? 0;
  };
  const before = await deadlocks();
  const other = await connected();
  // PostgreSQL aborts the transaction that first checks for a deadlock; this one never does.
  await other.query("SET deadlock_timeout = '1h'");
  let isLocked = false;
  while (!isLocked) {
    await other.query(`BEGIN; SELECT FROM ${schema}.leads WHERE id = 2 FOR UPDATE`);
    stub.changeLead(1);
    stub.changeLead(2);
    await until('leadsync waits', () => waitsForLock(), 30_000);
    // A listing that is being sent can show the second change without the first: then the waiting transaction has not locked lead 1.
    const free = await other.query(`SELECT FROM ${schema}.leads WHERE id = 1 FOR UPDATE SKIP LOCKED`);
    isLocked = free.rowCount === 0;
    if (isLocked) await other.query(`UPDATE ${schema}.leads SET source = source WHERE id = 1`);
    await other.query('COMMIT');
  }
  await until('PostgreSQL counts the deadlock', async () => (await deadlocks()) > before, 30_000);
}

/** Makes this many statements that insert leads fail, as concurrent writers would. Returns a function that counts the failures. */
async function failNextInserts({ schema, query }: Scene, times: number): Promise<() => Promise<number>> {
  // A sequence keeps counting across rollbacks.
  await query(`
    CREATE SEQUENCE ${schema}.tries;
    CREATE FUNCTION ${schema}.fail() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF nextval('${schema}.tries') <= ${times} THEN
          RAISE EXCEPTION 'somebody was first' USING ERRCODE = 'serialization_failure';
        END IF;
        RETURN NULL;
      END $$;
    CREATE TRIGGER fail BEFORE INSERT ON ${schema}.leads FOR EACH STATEMENT EXECUTE FUNCTION ${schema}.fail()`);
  return async () => {
    const sql = `SELECT last_value::int AS tries FROM ${schema}.tries`;
    return (await query<{ tries: number }>(sql))[0]?.tries ?? 0;
  };
}

/** Returns the leads whose number of answers in the table differs from that in their text. */
function answersThatAreNotThere({ schema, query }: Scene): Promise<{ id: string }[]> {
  return query(
    `SELECT id FROM ${schema}.leads l WHERE json_array_length(_leadsync_raw->'service_question_answers')
     <> (SELECT count(*) FROM ${schema}.lead_answers a WHERE a.source = l.source AND a.lead_id = l.id)`,
  );
}
