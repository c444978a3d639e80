import { expect, it, onTestFinished } from 'vitest';
import { migrations } from '../../src/sinks/postgres/schema/migrations.ts';
import { openPostgres, startDatabase } from '../sinks/postgres/database.ts';
import { aBatch } from '../support/scene/a-delivery.ts';
import { uniqueName } from '../support/servers/services.ts';

/** The columns of `deliveries` in that step. */
const OF_DELIVERIES =
  'delivery_id, source, lead_id, lead_version, sink, event, state, reason, attempts, owed_at, first_attempt_at, next_attempt_at, settled_at, replay, _leadsync_no, _leadsync_ledger';

const NEVER = new AbortController().signal;
/** Steps of the schema in which deliveries and attempts were tables. */
const STEPS = 7;

const DELIVERIES = `INSERT INTO deliveries SELECT delivery_id, 'main', lead_id, version, sink, event, state, reason, attempts,
    '2026-11-20T10:00Z', first::timestamptz, next::timestamptz, settled::timestamptz, replay, no, ledger FROM (VALUES
  ('crm:main:1:1:0123abcd', 1, 1, 'crm', 'created', 'delivered', NULL, 1, '2026-11-20T10:01Z', NULL, '2026-11-20T10:02Z', false, 1, 'here'),
  ('crm:main:1:2:ffffffff', 1, 2, 'crm', 'updated', 'delivered', NULL, 2, '2026-11-20T11:01Z', NULL, '2026-11-20T11:05Z', false, 2, 'here'),
  ('old:main:2:1:89abcdef', 2, 1, 'new', 'created', 'pending', 'is down', 1, '2026-11-20T10:01Z', '2026-11-21T10:00Z', NULL, false, 3, 'here'),
  ('crm:main:1:2:ffffffff:r1763632800123', 1, 2, 'crm', 'updated', 'delivered', NULL, 1, '2026-11-22T10:00Z', NULL, '2026-11-22T10:01Z', true, 4, 'here'),
  ('crm:main:3:1:00000000:erased', 3, 1, 'crm', 'erased', 'dead', 'was refused', 3, '2026-11-20T10:01Z', NULL, '2026-11-20T10:09Z', false, 5, 'here'),
  ('crm:main:4:1:00000001', 4, 1, 'crm', 'created', 'skipped', 'by hand', 0, NULL, NULL, '2026-11-20T10:09Z', false, 6, 'here'),
  ('an id of its own', 5, 1, 'crm', 'created', 'delivered', NULL, 1, '2026-11-20T10:01Z', NULL, '2026-11-20T10:02Z', false, 7, 'here'),
  ('crm:main:5:9:0123abcd', 5, 1, 'crm', 'created', 'delivered', NULL, 1, '2026-11-20T10:01Z', NULL, '2026-11-20T10:02Z', true, 8, 'here'),
  ('crm:main:6:1:0000000a', 6, 1, 'crm', 'created', 'delivered', NULL, 1, '2026-11-20T10:01Z', NULL, '2026-11-20T10:02Z', false, 7, 'here-lost'),
  ('crm:main:6:1:0000000b', 6, 1, 'crm', 'created', 'pending', NULL, 0, NULL, '2026-11-20T10:02Z', NULL, false, 7, 'here-lost'),
  ('crm:main:6:1:0000000c', 6, 1, 'crm', 'created', 'dead', NULL, 0, NULL, NULL, '2026-11-20T10:02Z', false, 7, 'here-lost')
) AS d (delivery_id, lead_id, version, sink, event, state, reason, attempts, first, next, settled, replay, no, ledger)`;

const ATTEMPTS = `INSERT INTO attempts SELECT delivery_id, 'main', lead_id, sink, started::timestamptz, 25, outcome, status, error, times,
    last::timestamptz, no, 'here' FROM (VALUES
  ('crm:main:1:1:0123abcd', 1, 'crm', '2026-11-20T10:01Z', 'delivered', 200, NULL, 1, NULL, 1),
  ('crm:main:1:2:ffffffff', 1, 'crm', '2026-11-20T11:01Z', 'refused', 500, 'is down', 3, '2026-11-20T11:02Z', 2),
  ('crm:main:1:2:ffffffff', 1, 'crm', '2026-11-20T11:04Z', 'delivered', NULL, NULL, 1, NULL, 3),
  ('crm:main:1:2:ffffffff', 1, 'crm', '2026-11-20T11:03Z', 'delivered', 204, NULL, 1, NULL, 4),
  ('old:main:2:1:89abcdef', 2, 'new', '2026-11-20T10:01Z', 'unavailable', NULL, 'is down', 1, NULL, 5),
  ('crm:main:3:1:00000000:erased', 3, 'crm', '2026-11-20T10:01Z', 'refused', 400, NULL, 1, NULL, 6),
  ('an id of its own', 5, 'crm', '2026-11-20T10:01Z', 'delivered', 200, NULL, 1, NULL, 7),
  ('of no delivery', 9, 'crm', '2026-11-20T10:01Z', 'delivered', 200, NULL, 1, NULL, 8)
) AS a (delivery_id, lead_id, sink, started, outcome, status, error, times, last, no)`;

const ANSWERED = `INSERT INTO leads SELECT 'main', 70, 'Pools', 'pools', now(), 'Ada', '', '', NULL, '', a, '{}', now(), now(), now(), now(), 2, 'h2', '{"id":70, "client_name":"Ada"}', false
    FROM (SELECT jsonb_agg(jsonb_build_object('question', question, 'slug', slug, 'answer', answer) ORDER BY position) AS a FROM lead_answers) x`;
const ANSWERS = `INSERT INTO lead_answers VALUES ('main', 70, 0, 'How "big"?', 'size', E'10\\m²\n\uFFFD'), ('main', 70, 1, 'When?', 'when', ''),
    ('main', 70, 2, 'When?', 'when', 'soon')`;

const VERSIONS = `INSERT INTO lead_versions SELECT 'main', lead_id, version, '2026-11-20T10:00Z'::timestamptz + version * interval '1 hour',
    CASE WHEN NOT current THEN '2026-11-20T11:00Z'::timestamptz + version * interval '1 hour' END, current, fields::json, 3, hash, raw::json, no, ledger,
    original IS NOT NULL, original FROM (VALUES
  (70, 1, false, NULL, 'h1', '{"id":70, "client_name":"Ada  First"}', 1, 'here', NULL),
  (70, 2, true, '["client_name"]', 'h2', '{"id":70, "client_name":"Ada"}', 2, 'here', NULL),
  (71, 1, true, NULL, 'h3', '{"id":71}', 3, 'here', NULL),
  (72, 1, true, NULL, 'h4', '{"id":72,"n":"\\ufffd"}', 3, 'gone-lost', '{"id":72,"n":"\\u0000"}'),
  (73, 1, true, NULL, 'h5', '{"id":73,"n":1}', 3, 'gone-lost', NULL)
) AS v (lead_id, version, current, fields, hash, raw, no, ledger, original)`;

/** A store of the version before, with all that deliveries and attempts can be, and a sink that has not been used. */
async function storeBefore() {
  const database = startDatabase();
  const { url, schema, query } = database;
  const sink = openPostgres({ url, schema });
  onTestFinished(async () => {
    await sink.close();
    await database.close();
  });
  await query(`CREATE SCHEMA ${schema}`);
  for (const step of migrations.slice(0, STEPS)) await query(step);
  await query(
    'CREATE TABLE _leadsync_migrations (version integer PRIMARY KEY, applied_at timestamptz NOT NULL, applied_by text NOT NULL)',
  );
  await query(`INSERT INTO _leadsync_migrations SELECT n, now(), '' FROM generate_series(1, ${STEPS}) n`);
  await query(DELIVERIES);
  await query(ATTEMPTS);
  await query(ANSWERS);
  await query(ANSWERED);
  await query(VERSIONS);
  const columns = (names: string) => `SELECT ${names} FROM`;
  return {
    ...database,
    sink,
    upgrade: async () => expect(await sink.deliver(aBatch(1), NEVER)).toEqual([{ kind: 'delivered' }]),
    everything: async () => ({
      // What delivers the upgrade has answers, too.
      answers: await query(`${columns('*')} lead_answers WHERE lead_id = 70 ORDER BY position`),
      versions: await query(
        `${columns('*, raw::text AS text')} lead_versions WHERE lead_id >= 70 ORDER BY lead_id, version`,
      ),
      deliveries: await query(`${columns(OF_DELIVERIES)} deliveries ORDER BY delivery_id`),
      attempts: await query(`${columns('*')} attempts ORDER BY delivery_id, started_at`),
      undelivered: await query(`${columns('*')} v_undelivered ORDER BY delivery_id`),
      timeline: await query(`${columns('*')} v_lead_timeline ORDER BY lead_id, at`),
    }),
  };
}

it('an upgrade keeps all deliveries, attempts, answers and versions of an older schema, in every column', async () => {
  const { everything, upgrade, query } = await storeBefore();
  const before = await everything();
  await upgrade();
  expect(await everything()).toEqual(before);
  // One that was delivered at once takes no row beside its delivery.
  expect(await query('SELECT count(*)::int AS n FROM _attempts')).toEqual([{ n: 5 }]);
  // One content is that of the lead, and one was emptied.
  expect(await query('SELECT hash FROM _contents ORDER BY 1')).toEqual([
    { hash: 'h1' },
    { hash: 'h4' },
    { hash: 'h5' },
  ]);
  expect(await query('SELECT delivery_id FROM _deliveries WHERE delivery_id IS NOT NULL ORDER BY 1')).toEqual(
    [{ delivery_id: 'an id of its own' }, { delivery_id: 'crm:main:5:9:0123abcd' }],
  );
});

it('an upgrade keeps the views of other users over the tables that it replaces, with their owners, grants and comments', async () => {
  const { upgrade, query, schema } = await storeBefore();
  const role = uniqueName('analyst');
  await query(`CREATE ROLE ${role}`);
  onTestFinished(async () => void (await query(`DROP OWNED BY ${role}; DROP ROLE ${role}`)));
  await query(`
    CREATE VIEW mine AS SELECT sink, count(*) AS n FROM deliveries GROUP BY 1;
    CREATE VIEW "over Mine" WITH (security_barrier = true) AS SELECT m.*, (SELECT count(*) FROM attempts) AS tries FROM mine m;
    CREATE VIEW stuck AS SELECT count(*) AS n FROM v_undelivered;
    COMMENT ON VIEW "over Mine" IS 'It''s mine.'; COMMENT ON COLUMN mine.n IS 'How many.';
    CREATE VIEW wanted AS SELECT slug, answer FROM lead_answers;
    GRANT SELECT (slug) ON lead_answers TO ${role};
    GRANT USAGE ON SCHEMA ${schema} TO ${role}; GRANT SELECT ON mine, deliveries TO ${role}; GRANT SELECT (delivery_id) ON attempts TO ${role};
    ALTER VIEW "over Mine" OWNER TO ${role}`);
  const described = `SELECT relname, relowner::regrole::text, reloptions, obj_description(oid, 'pg_class') AS words, col_description(oid, 2) AS n
    FROM pg_class WHERE relnamespace = '${schema}'::regnamespace AND relname IN ('mine', 'over Mine', 'stuck') ORDER BY 1`;
  const asked = async () => ({
    described: await query(described),
    rows: await query('SELECT * FROM "over Mine" ORDER BY 1'),
    stuck: await query('SELECT * FROM stuck'),
    wanted: await query("SELECT * FROM wanted WHERE slug = 'size'"),
  });
  await query(`GRANT SELECT ON mine TO ${role}; GRANT SELECT ON attempts TO ${role}`);
  const before = await asked();
  await upgrade();
  expect(await asked()).toEqual(before);
  await query("INSERT INTO _sink_names (named, sink) VALUES ('later', 'later')");
  await query(
    `INSERT INTO _deliveries (no, lead_id, owed_at, ledger_no, sink_no, lead_version, content, attempts, event, state, source)
     SELECT 99, 99, now(), 1, max(sink_no), 1, 0, 0, 'created', 'pending', 'main' FROM _sink_names`,
  );
  expect(await query("SELECT n FROM mine WHERE sink = 'later'")).toEqual([{ n: '1' }]);
  const asRole = (sql: string) => query(`BEGIN; SET LOCAL ROLE ${role}; ${sql}; COMMIT`);
  for (const sql of [
    'SELECT * FROM mine',
    'SELECT * FROM deliveries',
    'SELECT delivery_id FROM attempts',
    'SELECT slug FROM lead_answers',
  ])
    await asRole(sql);
});

it('an upgrade changes nothing if an object that it cannot create again depends on the tables; the leads wait, and the error names it', async () => {
  const { sink, query, schema, upgrade, everything } = await storeBefore();
  const before = await everything();
  await query('CREATE MATERIALIZED VIEW counted AS SELECT count(*) FROM deliveries');
  await query('CREATE VIEW beside AS SELECT 1 FROM attempts');
  await query('ALTER TABLE attempts ADD CONSTRAINT quick CHECK (duration_ms < 100)');
  const error = await sink.deliver(aBatch(1), NEVER).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({
    message: `This version of leadsync replaces "${schema}".deliveries and "${schema}".attempts with views of the same names, and leadsync cannot keep what depends on the tables: constraint quick on table ${schema}.attempts; materialized view ${schema}.counted.`,
    hint: expect.stringContaining('Drop these objects'),
  });
  expect(await everything()).toEqual(before);
  expect(await query('SELECT count(*)::int AS n FROM beside')).toEqual([{ n: 8 }]);
  await query('DROP MATERIALIZED VIEW counted');
  await query('ALTER TABLE attempts DROP CONSTRAINT quick');
  await upgrade();
  expect(await everything()).toEqual(before);
});

it('a role that could write the tables can write their replacements', async () => {
  const { upgrade, query } = await storeBefore();
  const role = uniqueName('writer');
  await query(`CREATE ROLE ${role}`);
  onTestFinished(async () => void (await query(`DROP OWNED BY ${role}; DROP ROLE ${role}`)));
  await query(
    `GRANT SELECT, INSERT, UPDATE, DELETE ON deliveries TO ${role}; GRANT SELECT, INSERT, UPDATE ON attempts, lead_versions TO ${role}`,
  );
  await upgrade();
  const rights = (table: string, right: string) =>
    query(`SELECT has_table_privilege('${role}', '${table}', '${right}') AS held`);
  for (const [table, held] of Object.entries({
    _deliveries: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'],
    _attempts: ['SELECT', 'INSERT', 'UPDATE'],
    _ledgers: ['SELECT', 'INSERT'],
    _sink_names: ['SELECT', 'INSERT'],
    _versions: ['SELECT', 'INSERT', 'UPDATE'],
    _contents: ['SELECT', 'INSERT', 'DELETE'],
    lead_versions: ['SELECT'],
    deliveries: ['SELECT'],
    v_undelivered: ['SELECT'],
  }))
    for (const right of held) expect(await rights(table, right)).toEqual([{ held: true }]);
  expect(await rights('_attempts', 'DELETE')).toEqual([{ held: false }]);
});
