import pg from 'pg';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Delivery } from '../../../src/leads/delivery.ts';
import type { Refused } from '../../../src/leads/outcome.ts';
import { migrations } from '../../../src/sinks/postgres/schema/migrations.ts';
import type { Sink } from '../../../src/sinks/sink.ts';
import { LeaseOver, SinkUnavailable } from '../../../src/sinks/sink-unavailable.ts';
import { aBatch, aDelivery } from '../../support/scene/a-delivery.ts';
import { aLead } from '../../support/scene/a-lead.ts';
import { uniqueName } from '../../support/servers/services.ts';
import { until } from '../../support/time/until.ts';
import { type Database, openPostgres, startDatabase } from './database.ts';
import { startProxy } from './proxy.ts';

const NEVER = new AbortController().signal;

let database: Database;
const sinks: Sink[] = [];

beforeEach(() => {
  database = startDatabase();
});

afterEach(async () => {
  await Promise.all(sinks.splice(0).map((sink) => sink.close()));
  await database.close();
});

function open(
  options: Partial<Parameters<typeof openPostgres>[0]> = {},
  parts?: Parameters<typeof openPostgres>[1],
): Sink {
  const sink = openPostgres({ url: database.url, schema: database.schema, ...options }, parts);
  sinks.push(sink);
  return sink;
}

const deliver = (sink: Sink, ...deliveries: Delivery[]) => sink.deliver(aBatch(deliveries), NEVER);
const kinds = (outcomes: readonly { kind: string }[]) => outcomes.map(({ kind }) => kind);
const leadIds = async () => (await database.query('SELECT id FROM leads ORDER BY id')).map(({ id }) => id);
const failure = (work: Promise<unknown>) =>
  work.then(
    () => expect.fail('it did not fail'),
    (error: unknown) => {
      expect(error).toBeInstanceOf(SinkUnavailable);
      return error as SinkUnavailable;
    },
  );

describe('a stored lead', () => {
  test('has its fields in typed columns, its answers by slug and in rows, and its JSON as received', async () => {
    const raw = aLead({
      id: 7,
      created_at: '2026-11-20T20:59:30.123+11:00',
      service_question_answers: [
        { question: 'Which rooms?', slug: 'rooms', answer: 'kitchen' },
        { question: 'Which rooms?', slug: 'rooms', answer: 'bath' },
        { question: 'When?', slug: '__proto__', answer: 'soon' },
      ],
    }).replace('{', '{ ');
    await deliver(
      open(),
      aDelivery({ leadId: 7n, raw, hash: 'cafe', version: 3, changedAt: new Date('2026-11-21T00:00:00Z') }),
    );
    const [lead] = await database.query(
      'SELECT *, coalesce(_leadsync_original, _leadsync_raw::text) AS raw FROM leads',
    );
    expect(lead).toMatchObject({
      source: 'main',
      id: '7',
      created_at: new Date('2026-11-20T09:59:30.123Z'),
      client_address: 'Footscray, VIC, 3011',
      _leadsync_first_seen_at: new Date('2026-11-20T10:00:00Z'),
      _leadsync_changed_at: new Date('2026-11-21T00:00:00Z'),
      _leadsync_last_listed_at: new Date('2026-11-21T00:00:00Z'),
      _leadsync_version: 3,
      _leadsync_hash: 'cafe',
      _leadsync_replaced: false,
      raw,
    });
    expect(JSON.stringify(lead?.['answers'])).toBe('{"rooms":["kitchen","bath"],"__proto__":"soon"}');
    expect(await database.query('SELECT position, slug, answer FROM lead_answers ORDER BY position')).toEqual(
      [
        { position: 0, slug: 'rooms', answer: 'kitchen' },
        { position: 1, slug: 'rooms', answer: 'bath' },
        { position: 2, slug: '__proto__', answer: 'soon' },
      ],
    );
  });

  test.each([
    ['2026-11-20T10:00:00Z', '2026-11-20T10:00:00.000Z'],
    ['2026-11-20T10:00:00,25+02:00', '2026-11-20T08:00:00.250Z'],
    ['2026-11-20t10:00z', '2026-11-20T10:00:00.000Z'],
    ['2026-11-20T10:00:00', '2026-11-20T10:00:00.000Z'],
    ['2026-11-20T10:00:00+1030', '2026-11-19T23:30:00.000Z'],
    ['2026-11-20T23:59:60-05', '2026-11-21T05:00:00.000Z'],
  ])('with created_at %s has the time %s', async (created_at, utc) => {
    await deliver(open(), aDelivery({ raw: aLead({ created_at }) }));
    expect(await database.query('SELECT created_at FROM leads')).toEqual([{ created_at: new Date(utc) }]);
  });

  test('records that a character was replaced, and keeps the original in its JSON', async () => {
    const raw = aLead({ client_name: 'a\0b\ud800' });
    await deliver(open(), aDelivery({ raw }));
    const [lead] = await database.query(
      'SELECT client_name, _leadsync_replaced, coalesce(_leadsync_original, _leadsync_raw::text) AS raw FROM leads',
    );
    expect(lead).toEqual({ client_name: 'a\ufffdb\ufffd', _leadsync_replaced: true, raw });
  });

  test('is updated by a change, with its answers, and keeps the time when it was first seen', async () => {
    const sink = open();
    await deliver(sink, aDelivery());
    const changed = { version: 2, changedAt: new Date('2026-11-21T00:00:00Z') };
    const raw = aLead({ client_name: 'Changed', service_question_answers: [] });
    await deliver(sink, aDelivery({ ...changed, raw, event: 'updated' }));
    expect(
      await database.query('SELECT client_name, _leadsync_version, _leadsync_first_seen_at FROM leads'),
    ).toEqual([
      {
        client_name: 'Changed',
        _leadsync_version: 2,
        _leadsync_first_seen_at: new Date('2026-11-20T10:00:00Z'),
      },
    ]);
    expect(await database.query('SELECT * FROM lead_answers')).toEqual([]);
  });

  test.each([
    ['earlier', '2026-11-19T00:00:00Z'],
    ['at the same time', '2026-11-20T00:00:00Z'],
  ])('is not overwritten by a lower version listed %s, nor are its answers', async (_, listed) => {
    const sink = open();
    const newer = { version: 2, changedAt: new Date('2026-11-20T00:00:00Z') };
    await deliver(
      sink,
      aDelivery({ ...newer, raw: aLead({ client_name: 'Newer', service_question_answers: [] }) }),
    );
    const older = { changedAt: new Date(listed), raw: aLead({ client_name: 'Older' }) };
    expect(kinds(await deliver(sink, aDelivery(older)))).toEqual(['delivered']);
    expect(await database.query('SELECT client_name FROM leads')).toEqual([{ client_name: 'Newer' }]);
    expect(await database.query('SELECT * FROM lead_answers')).toEqual([]);
  });

  test('is overwritten by a higher version, although the clock was set back', async () => {
    const sink = open();
    await deliver(sink, aDelivery());
    const changed = { version: 2, changedAt: new Date('2026-11-19T00:00:00Z') };
    await deliver(sink, aDelivery({ ...changed, raw: aLead({ client_name: 'Changed' }) }));
    expect(await database.query('SELECT client_name FROM leads')).toEqual([{ client_name: 'Changed' }]);
  });

  test('is overwritten by a restored ledger, although its versions continue from an earlier one', async () => {
    const sink = open();
    await deliver(sink, aDelivery({ version: 3, changedAt: new Date('2026-11-22T00:00:00Z') }));
    const changed = { version: 2, changedAt: new Date('2026-11-23T00:00:00Z') };
    const raw = aLead({
      client_name: 'After the restore',
      service_question_answers: [{ question: 'When?', slug: 'when', answer: 'soon' }],
    });
    expect(kinds(await deliver(sink, aDelivery({ ...changed, raw, event: 'updated' })))).toEqual([
      'delivered',
    ]);
    expect(await database.query('SELECT client_name, _leadsync_version FROM leads')).toEqual([
      { client_name: 'After the restore', _leadsync_version: 2 },
    ]);
    expect(await database.query('SELECT answer FROM lead_answers')).toEqual([{ answer: 'soon' }]);
  });

  test('keeps its answers when a lead of another source with the same id is written', async () => {
    const sink = open();
    await deliver(sink, aDelivery({ source: 'one' }), aDelivery({ source: 'two' }));
    const raw = aLead({ service_question_answers: [] });
    await deliver(sink, aDelivery({ source: 'one', version: 2, raw }));
    expect(await database.query('SELECT source, lead_id, position FROM lead_answers ORDER BY 3')).toEqual([
      { source: 'two', lead_id: '42', position: 0 },
      { source: 'two', lead_id: '42', position: 1 },
    ]);
  });

  test('is overwritten by a new ledger, although its versions start from 1', async () => {
    const sink = open();
    await deliver(sink, aDelivery({ version: 5, changedAt: new Date('2026-11-22T00:00:00Z') }));
    const later = new Date('2026-11-23T00:00:00Z');
    const raw = aLead({ client_name: 'From the new ledger' });
    await deliver(sink, aDelivery({ version: 1, firstSeenAt: later, changedAt: later, raw }));
    expect(
      await database.query('SELECT client_name, _leadsync_version, _leadsync_first_seen_at FROM leads'),
    ).toEqual([
      {
        client_name: 'From the new ledger',
        _leadsync_version: 1,
        _leadsync_first_seen_at: new Date('2026-11-20T10:00:00Z'),
      },
    ]);
  });

  test('is overwritten by later content of a new ledger, although the clock was set back', async () => {
    const sink = open();
    const later = new Date('2026-11-23T00:00:00Z');
    await deliver(sink, aDelivery());
    await deliver(sink, aDelivery({ firstSeenAt: later, changedAt: later }));
    const changed = { version: 2, firstSeenAt: later, changedAt: new Date('2026-11-22T00:00:00Z') };
    await deliver(sink, aDelivery({ ...changed, raw: aLead({ client_name: 'Changed' }) }));
    expect(await database.query('SELECT client_name FROM leads')).toEqual([{ client_name: 'Changed' }]);
  });

  test('may be in the same batch twice', async () => {
    const versions = [1, 2, 3].map((version) =>
      aDelivery({ version, raw: aLead({ client_name: `v${version}` }) }),
    );
    expect(kinds(await deliver(open(), ...versions))).toEqual(['delivered', 'delivered', 'delivered']);
    expect(await database.query('SELECT client_name FROM leads')).toEqual([{ client_name: 'v3' }]);
  });

  test('may be larger than the limit for one statement', async () => {
    const answer = 'x'.repeat(10_000_000);
    const raw = (id: number) =>
      aLead({ id, service_question_answers: [{ question: 'q', slug: 's', answer }] });
    const deliveries = [1, 2].map((id) => aDelivery({ leadId: BigInt(id), raw: raw(id) }));
    const sink = open({}, { timeoutMs: 600_000 }); // a busy machine takes its time over 20 MB
    expect(kinds(await deliver(sink, ...deliveries))).toEqual(['delivered', 'delivered']);
    expect(await database.query('SELECT length(answer) FROM lead_answers')).toEqual([
      { length: 10_000_000 },
      { length: 10_000_000 },
    ]);
  });
});

describe('a lead that the database rejects', () => {
  test('is refused alone, with the SQLSTATE and the violated constraint, while the others are stored', async () => {
    const sink = open();
    await deliver(sink, aDelivery({ leadId: 1000n }));
    await database.query(`ALTER TABLE leads ADD CONSTRAINT no_canary CHECK (client_name <> 'canary')`);
    const deliveries = Array.from({ length: 20 }, (_, id) =>
      aDelivery({ leadId: BigInt(id), raw: aLead({ id, client_name: id === 13 ? 'canary' : 'fine' }) }),
    );
    const outcomes = await deliver(sink, ...deliveries);
    expect(outcomes.findIndex(({ kind }) => kind === 'refused')).toBe(13);
    expect(outcomes.filter(({ kind }) => kind === 'delivered')).toHaveLength(19);
    expect(await leadIds()).toHaveLength(20);
    const { reason, answer } = outcomes[13] as Refused;
    expect(reason).toContain('SQLSTATE 23514, table leads, constraint no_canary');
    expect(reason).not.toContain('canary,');
    expect(answer).toContain('canary');
  });

  test.each([
    ['an invalid time', aLead({ created_at: 'yesterday' }), '23502'],
    ['a word that only PostgreSQL accepts as a time', aLead({ created_at: 'infinity' }), '23502'],
    ['a day that does not exist', aLead({ created_at: '2026-02-30T10:00:00Z' }), '22008'],
    [
      'JSON nested too deeply',
      aLead({ deep: null }).replace('null}', `${'['.repeat(100_000)}${']'.repeat(100_000)}}`),
      '54001',
    ],
  ])('is refused for %s', async (_, raw, sqlstate) => {
    const outcomes = await deliver(open(), aDelivery({ leadId: 1n }), aDelivery({ leadId: 2n, raw }));
    expect(kinds(outcomes)).toEqual(['delivered', 'refused']);
    expect((outcomes[1] as Refused).reason).toContain(sqlstate);
  });
});

describe('the schema', () => {
  test('has a comment on every table, view and column', async () => {
    await deliver(open(), aDelivery());
    const silent = await database.query(
      `SELECT c.relname, a.attname FROM pg_class c LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND c.relkind = 'r'
      WHERE c.relnamespace = to_regnamespace($1) AND c.relkind IN ('r', 'v')
        AND (obj_description(c.oid) IS NULL OR (a.attnum IS NOT NULL AND col_description(c.oid, a.attnum) IS NULL))`,
      [database.schema],
    );
    expect(silent).toEqual([]);
  });

  test('is created once, by any number of sinks that start at the same time', async () => {
    const outcomes = await Promise.all(
      [1, 2, 3, 4, 5].map((id) => deliver(open(), aDelivery({ leadId: BigInt(id) }))),
    );
    expect(kinds(outcomes.flat())).toEqual(Array.from({ length: 5 }, () => 'delivered'));
    expect(await database.query('SELECT version FROM _leadsync_migrations ORDER BY 1')).toEqual(
      migrations.map((_, at) => ({ version: at + 1 })),
    );
  });

  test('is not created by a check', async () => {
    await open().check(NEVER);
    expect(await database.query('SELECT to_regnamespace($1) AS schema', [database.schema])).toEqual([
      { schema: null },
    ]);
  });

  test('of a newer leadsync is not changed', async () => {
    await deliver(open(), aDelivery());
    await database.query(`INSERT INTO _leadsync_migrations VALUES (1000, now(), 'leadsync/9')`);
    const person = { leads: [{ source: 'main', leadId: 42n }], rejected: [] };
    for (const work of [
      () => open().check(NEVER),
      () => deliver(open(), aDelivery()),
      async () => open().mirror?.lastNumber('a-ledger', 'polls', NEVER),
      async () => open().erase?.(person, NEVER),
      async () => open().storedLeads?.(NEVER)[Symbol.asyncIterator]().next(),
    ]) {
      const error = await failure(work());
      expect(error.message).toContain('(schema version 1000; this one supports');
      expect(error.hint).toContain('Install');
    }
  });

  test.each([
    ['table', 'leads', 'CREATE TABLE leads (mine text)'],
    ['table', '_leadsync_migrations', 'CREATE TABLE _leadsync_migrations (version integer)'],
    ['view', 'v_freshness', 'CREATE VIEW v_freshness AS SELECT 1'],
    ['table with the name of an index', 'polls_number', 'CREATE TABLE polls_number (mine text)'],
    ['type', 'deliveries', "CREATE TYPE deliveries AS ENUM ('mine')"],
  ])('with a %s of the same name from another program is not changed', async (_, name, sql) => {
    await database.query(`CREATE SCHEMA ${database.schema}`);
    await database.query(sql);
    for (const work of [() => open().check(NEVER), () => deliver(open(), aDelivery())]) {
      expect((await failure(work())).message).toContain(`"${name}", which leadsync did not create`);
    }
  });

  test('that is dropped meanwhile is reported as missing, and created again', async () => {
    const sink = open();
    await deliver(sink, aDelivery());
    await database.query(`DROP SCHEMA ${database.schema} CASCADE`);
    await failure(deliver(sink, aDelivery()));
    expect(kinds(await deliver(sink, aDelivery()))).toEqual(['delivered']);
  });

  test('must have a name that needs no quoting', () => {
    for (const schema of ['', '1st', 'a-b', 'pg_mine', 'a"b', 'x'.repeat(64), 'information_schema']) {
      expect(() => openPostgres({ url: database.url, schema }), schema).toThrow();
    }
  });
});

describe('a database that cannot be used', () => {
  test.each([
    [
      'a code that leadsync reports with its message',
      "RAISE 'blocked %', NEW.client_name USING ERRCODE = '42501'",
    ],
    ['a full disk', "RAISE 'blocked %', NEW.client_name USING ERRCODE = '53100'"],
    ['SQL made of the text', "EXECUTE 'SELECT ' || quote_ident(NEW.client_name)"],
  ])("because a trigger raises %s shows the trigger's text only in the answer", async (_, raise) => {
    const sink = open();
    await deliver(sink, aDelivery());
    await database.query(
      `CREATE FUNCTION stop() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${raise}; RETURN NEW; END $$;
       CREATE TRIGGER stop BEFORE UPDATE OR INSERT ON leads FOR EACH ROW EXECUTE FUNCTION stop()`,
    );
    const error = await failure(
      deliver(sink, aDelivery({ leadId: 7n, raw: aLead({ id: 7n, client_name: 'canary' }) })),
    );
    expect(`${error.message} ${error.hint}`).not.toContain('canary');
    expect(error).toMatchObject({ answer: expect.stringContaining('canary') });
    expect(error.hint).toContain('trigger');
  });

  test.each(['client_name::regclass IS NOT NULL', 'current_setting(client_name) IS NOT NULL'])(
    'because CHECK (%s) treats a value as a name shows the value only in the answer',
    async (condition) => {
      const sink = open();
      await deliver(sink, aDelivery());
      await database.query(`ALTER TABLE leads ADD CHECK (${condition}) NOT VALID`);
      const error = await failure(
        deliver(sink, aDelivery({ leadId: 7n, raw: aLead({ id: 7n, client_name: 'canary' }) })),
      );
      expect(`${error.message} ${error.hint}`).not.toContain('canary');
      expect(error).toMatchObject({ answer: expect.stringContaining('canary') });
      expect(error.hint).toContain("the server's log");
    },
  );

  test('because a trigger rejects a statement without leads reports that statement, and the trigger as a possible cause', async () => {
    const sink = open();
    await deliver(sink, aDelivery());
    await database.query(
      `CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$`,
    );
    await database.query(
      'CREATE TRIGGER keep BEFORE DELETE ON leads FOR EACH STATEMENT EXECUTE FUNCTION keep()',
    );
    const person = { leads: [{ source: 'main', leadId: 42n }], rejected: [] };
    const { message, hint } = await failure(Promise.resolve(sink.erase?.(person, NEVER)));
    expect(message).toContain("refused one of leadsync's own statements (SQLSTATE P0001");
    expect(hint).toContain('trigger');
  });

  test.each([
    ['a table is dropped', 'DROP TABLE leads CASCADE', '42P01', 'leads'],
    [
      'a column is missing',
      'ALTER TABLE leads DROP COLUMN _leadsync_hash CASCADE',
      '42703',
      '_leadsync_hash',
    ],
  ])('because %s is unavailable, and the error names it', async (_, sql, sqlstate, which) => {
    const sink = open();
    await deliver(sink, aDelivery());
    await database.query(sql);
    const error = await failure(deliver(sink, aDelivery({ leadId: 2n })));
    expect(error.message).toContain(sqlstate);
    expect(error.message).toContain(which);
    expect(error.hint).not.toBe('');
  });

  test('because a right was revoked is unavailable; the error and the check name the right', async () => {
    const role = uniqueName('role');
    const url = new URL(database.url);
    url.username = role;
    url.password = 'secret-canary';
    await deliver(open(), aDelivery());
    await database.query(`CREATE ROLE ${role} LOGIN PASSWORD 'secret-canary'`);
    try {
      await database.query(`GRANT USAGE ON SCHEMA ${database.schema} TO ${role}`);
      await database.query(`GRANT SELECT ON ALL TABLES IN SCHEMA ${database.schema} TO ${role}`);
      const sink = open({ url: url.href });
      const error = await failure(deliver(sink, aDelivery({ leadId: 2n })));
      expect(error.message).toContain('42501');
      expect(error.message).toContain('leads');
      const checked = await failure(sink.check(NEVER));
      expect(checked.message).toBe(
        `The PostgreSQL user has no right to INSERT on TABLE "${database.schema}".leads.`,
      );
      expect(`${error.message}${error.hint}${checked.hint}`).not.toContain('secret-canary');
    } finally {
      await database.query(`DROP OWNED BY ${role}`);
      await database.query(`DROP ROLE ${role}`);
    }
  });

  test('because the mirror lacks one of the documented rights fails the check, which needs no others', async () => {
    const role = uniqueName('role');
    const url = new URL(database.url);
    url.username = role;
    const { schema } = database;
    await deliver(open(), aDelivery());
    await database.query(`CREATE ROLE ${role} LOGIN`);
    try {
      const grants = [
        'USAGE ON SCHEMA',
        'SELECT ON _leadsync_migrations',
        'SELECT, INSERT, UPDATE ON leads, _versions, polls, _deliveries, _attempts, rejected_leads, _client_keys, _presence, _erased, _sinks, _sources',
        'SELECT, INSERT ON _ledgers, _sink_names',
        'SELECT, INSERT, DELETE ON _contents',
        'SELECT ON lead_versions, deliveries, attempts, v_undelivered',
        'DELETE ON leads, _client_keys, _presence',
      ];
      for (const grant of grants)
        await database.query(
          `SET search_path = ${schema}; GRANT ${grant}${grant.endsWith('SCHEMA') ? ` ${schema}` : ''} TO ${role}`,
        );
      const sink = open({ url: url.href, mirror: '10s' });
      expect((await failure(sink.check(NEVER))).hint).toBe(
        `GRANT DELETE ON TABLE "${schema}"._deliveries TO that user.`,
      );
      await database.query(`GRANT DELETE ON ${schema}._deliveries TO ${role}`);
      await sink.check(NEVER);
    } finally {
      await database.query(`DROP OWNED BY ${role}`);
      await database.query(`DROP ROLE ${role}`);
    }
  });

  test('because it does not exist is unavailable', async () => {
    const url = new URL(database.url);
    url.pathname = '/no_such_database';
    expect((await failure(open({ url: url.href }).check(NEVER))).message).toContain('3D000');
  });

  test('because its table is locked ends the attempt at its deadline, and takes leads once it is free', async () => {
    await deliver(open(), aDelivery()); // makes the schema, which may take longer than a batch is given here
    const sink = open({}, { timeoutMs: 300, concurrency: 1 });
    const other = new pg.Client({ connectionString: database.url });
    await other.connect();
    try {
      await other.query(`BEGIN; LOCK TABLE ${database.schema}.leads`);
      expect((await failure(deliver(sink, aDelivery({ leadId: 2n })))).message).toMatch(/within 0.3 s|57014/);
    } finally {
      await other.end(); // rolls back, which frees the table
    }
    // On a busy machine, one attempt may take longer than 0.3 s.
    const isDelivered = () => deliver(sink, aDelivery({ leadId: 2n })).then(Boolean, () => false);
    await until('the table takes leads again', isDelivered);
    expect(await leadIds()).toEqual(['2', '42']);
  });
});

describe('a fault during a transaction', () => {
  test('a transaction that outlasts the lease of its attempt is rolled back', async () => {
    const sink = open();
    await deliver(sink, aDelivery({ leadId: 1n }));
    await database.query(
      `CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(0.3); RETURN NEW; END';
       CREATE TRIGGER slow BEFORE INSERT ON leads FOR EACH STATEMENT EXECUTE FUNCTION slow()`,
    );
    // The lease ends after the first look at it, and long before the trigger lets the rows in.
    let endMs = Number.POSITIVE_INFINITY;
    const confirmLease = () => {
      if (performance.now() >= endMs) throw new LeaseOver();
      endMs = Math.min(endMs, performance.now() + 100);
    };
    const under = { timeLeftMs: () => 60_000, confirmLease };
    const attempt = sink.deliver(aBatch([aDelivery({ leadId: 2n })]), NEVER, under);
    expect(await failure(attempt)).toBeInstanceOf(LeaseOver);
    expect(await leadIds()).toEqual(['1']);
  });

  test('a connection lost after COMMIT was sent leaves each lead once', async () => {
    const proxy = await startProxy(database.url);
    try {
      const sink = open({ url: proxy.url });
      await deliver(sink, aDelivery({ leadId: 1n }));
      proxy.cutAfterCommit();
      await failure(deliver(sink, aDelivery({ leadId: 2n })));
      expect(await leadIds()).toEqual(['1', '2']);
      await deliver(sink, aDelivery({ leadId: 2n }));
      expect(await leadIds()).toEqual(['1', '2']);
    } finally {
      proxy.close();
    }
  });

  test('connections that were cut while idle are replaced', async () => {
    const proxy = await startProxy(database.url);
    try {
      const sink = open({ url: proxy.url });
      await deliver(sink, aDelivery({ leadId: 1n }));
      proxy.cut();
      await until(
        'a delivery succeeds',
        async () => kinds(await deliver(sink, aDelivery({ leadId: 2n })))[0] === 'delivered',
      );
    } finally {
      proxy.close();
    }
  });

  test('a session that the server ends in mid-transaction stores nothing, and then everything', async () => {
    const sink = open();
    await deliver(sink, aDelivery({ leadId: 1n }));
    await database.query(
      `CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(10); RETURN NEW; END'`,
    );
    await database.query(
      'CREATE TRIGGER slow AFTER INSERT ON leads FOR EACH STATEMENT EXECUTE FUNCTION slow()',
    );
    const attempt = failure(deliver(sink, aDelivery({ leadId: 2n })));
    await until('the session is ended', async () => {
      const ended = await database.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'leadsync/test' AND wait_event = 'PgSleep'`,
      );
      return ended.length > 0;
    });
    expect((await attempt).message).toMatch(/57P01|failed|closed|reset/);
    expect(await leadIds()).toEqual(['1']);
    await database.query('DROP TRIGGER slow ON leads');
    await deliver(sink, aDelivery({ leadId: 2n }));
    expect(await leadIds()).toEqual(['1', '2']);
  });

  test.each(['40001', '40P01'])(
    'a transaction that fails because of others (%s) is tried once more',
    async (sqlstate) => {
      const sink = open();
      await deliver(sink, aDelivery({ leadId: 1n }));
      await failNext(sqlstate, 1);
      expect(kinds(await deliver(sink, aDelivery({ leadId: 2n })))).toEqual(['delivered']);
      await failNext(sqlstate, 5);
      expect((await failure(deliver(sink, aDelivery({ leadId: 3n })))).message).toContain(
        'in favour of another one',
      );
    },
  );

  /** The next transactions fail with a SQLSTATE; a sequence counts them, for it is not rolled back. */
  async function failNext(sqlstate: string, times: number): Promise<void> {
    await database.query('DROP SEQUENCE IF EXISTS tries');
    await database.query('CREATE SEQUENCE tries');
    await database.query(`CREATE OR REPLACE FUNCTION contend() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      IF nextval('${database.schema}.tries') <= ${times} THEN RAISE 'others' USING ERRCODE = '${sqlstate}'; END IF;
      RETURN NULL; END $$`);
    await database.query(
      'CREATE OR REPLACE TRIGGER contend AFTER INSERT ON leads FOR EACH STATEMENT EXECUTE FUNCTION contend()',
    );
  }

  test('a batch during which the server stops keeps the leads that were stored', async () => {
    const sink = open();
    await deliver(sink, aDelivery({ leadId: 1n }));
    await failNext('53100', 1000);
    await database.query(
      `CREATE OR REPLACE FUNCTION contend() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      IF (SELECT count(*) FROM ${database.schema}.leads) > 2 THEN RAISE 'full' USING ERRCODE = '53100'; END IF; RETURN NULL; END $$`,
    );
    // A lead that is in the batch twice divides it: the second version goes into a transaction of its own.
    const outcomes = await deliver(
      sink,
      aDelivery({ leadId: 2n }),
      aDelivery({ leadId: 2n, version: 2 }),
      aDelivery({ leadId: 3n }),
    );
    expect(kinds(outcomes)).toEqual(['delivered', 'unavailable', 'unavailable']);
    expect(await leadIds()).toEqual(['1', '2']);
  });
});
