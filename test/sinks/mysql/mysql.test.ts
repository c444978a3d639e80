import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Delivery } from '../../../src/leads/delivery.ts';
import { mayHaveArrived } from '../../../src/leads/outcome.ts';
import { type Sink, SinkUnavailable } from '../../../src/sinks/sink.ts';
import { testBatch } from '../../../src/sinks/test-batch.ts';
import { aBatch, aDelivery } from '../../support/scene/a-delivery.ts';
import { aLead } from '../../support/scene/a-lead.ts';
import { until } from '../../support/time/until.ts';
import { type Database, openMysql, startDatabase } from './database.ts';
import { startProxy } from './proxy.ts';

const NEVER = new AbortController().signal;

let database: Database;
const sinks: Sink[] = [];

beforeEach(async () => {
  database = await startDatabase();
});

afterEach(async () => {
  await Promise.all(sinks.splice(0).map((sink) => sink.close()));
  await database.close();
});

function open(
  options: Partial<Parameters<typeof openMysql>[0]> = {},
  parts?: Parameters<typeof openMysql>[1],
): Sink {
  const sink = openMysql({ url: database.url, ...options }, parts);
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
const lead = (id: number, fields: Record<string, unknown> = {}, more: Partial<Delivery> = {}) =>
  aDelivery({ leadId: BigInt(id), raw: aLead({ id, ...fields }), ...more });
/** The statement in a hint. */
const statementIn = ({ hint }: SinkUnavailable) => hint.slice(hint.search(/ALTER|GRANT|RENAME|CREATE/));

describe('a stored lead', () => {
  test('has its fields in typed columns, its answers by slug and in rows, and times in UTC', async () => {
    const raw = aLead({
      id: 7,
      created_at: '2026-11-20T20:59:30.123456+11:00',
      service_question_answers: [
        { question: 'Which rooms?', slug: 'rooms', answer: 'kitchen' },
        { question: 'Which rooms?', slug: 'rooms', answer: 'bath' },
        { question: 'When?', slug: '__proto__', answer: 'soon' },
      ],
    });
    await deliver(
      open({ raw: true }),
      aDelivery({ leadId: 7n, raw, hash: 'cafe', version: 3, changedAt: new Date('2026-11-21T00:00:00Z') }),
    );
    const [stored] = await database.query(
      'SELECT *, ABS(TIMESTAMPDIFF(SECOND, _leadsync_synced_at, UTC_TIMESTAMP())) < 60 AS now FROM leads',
    );
    expect(stored).toMatchObject({
      source: 'main',
      id: 7,
      created_at: '2026-11-20 09:59:30.123456',
      client_address: 'Footscray, VIC, 3011',
      answers: '{"rooms":["kitchen","bath"],"__proto__":"soon"}',
      _leadsync_first_seen_at: '2026-11-20 10:00:00.000000',
      _leadsync_changed_at: '2026-11-21 00:00:00.000000',
      _leadsync_version: 3,
      _leadsync_hash: 'cafe',
      _leadsync_raw: raw,
      _leadsync_replaced: 0,
      _leadsync_original: null,
      now: 1,
    });
    expect(await database.query('SELECT position, slug, answer FROM lead_answers ORDER BY position')).toEqual(
      [
        { position: 0, slug: 'rooms', answer: 'kitchen' },
        { position: 1, slug: 'rooms', answer: 'bath' },
        { position: 2, slug: '__proto__', answer: 'soon' },
      ],
    );
  });

  test('takes a change, with fewer and other answers, and keeps when it was first seen', async () => {
    const sink = open();
    await deliver(sink, lead(1));
    const [{ answers } = {}] = await database.query('SELECT COUNT(*) AS answers FROM lead_answers');
    expect(answers).toBe(2);
    const changed = { version: 2, changedAt: new Date('2026-11-21T00:00:00Z'), firstSeenAt: new Date(0) };
    const one = [{ question: 'When?', slug: 'when', answer: 'soon' }];
    await deliver(sink, lead(1, { client_name: 'Changed', service_question_answers: one }, changed));
    expect(
      await database.query(
        'SELECT client_name, _leadsync_version, _leadsync_first_seen_at AS first FROM leads',
      ),
    ).toEqual([{ client_name: 'Changed', _leadsync_version: 2, first: '2026-11-20 10:00:00.000000' }]);
    expect(await database.query('SELECT position, slug FROM lead_answers')).toEqual([
      { position: 0, slug: 'when' },
    ]);
  });

  test.each([
    ['lower', 'earlier', 1, '2026-11-19T00:00:00Z', 'Newer'],
    ['lower', 'at the same time', 1, '2026-11-20T00:00:00Z', 'Newer'],
    ['lower', 'later, as after a restore', 1, '2026-11-21T00:00:00Z', 'Other'],
    ['higher', 'earlier, as after the clock was set back', 3, '2026-11-19T00:00:00Z', 'Other'],
    ['equal', 'earlier', 2, '2026-11-19T00:00:00Z', 'Other'],
  ])('meets a content of a %s version listed %s', async (_, __, version, listed, name) => {
    const sink = open();
    const newer = { version: 2, changedAt: new Date('2026-11-20T00:00:00Z') };
    await deliver(sink, lead(1, { client_name: 'Newer', service_question_answers: [] }, newer));
    const other = { version, changedAt: new Date(listed), hash: 'other' };
    expect(kinds(await deliver(sink, lead(1, { client_name: 'Other' }, other)))).toEqual(['delivered']);
    const [stored] = await database.query(
      'SELECT client_name AS name, _leadsync_version AS version, _leadsync_changed_at AS changed, _leadsync_hash AS hash FROM leads',
    );
    const at = (time: Date) => `${time.toISOString().slice(0, 19).replace('T', ' ')}.000000`;
    expect(stored).toEqual(
      name === 'Newer'
        ? { name, version: 2, changed: at(newer.changedAt), hash: expect.not.stringMatching('other') }
        : { name, version, changed: at(other.changedAt), hash: 'other' },
    );
    const answers = await database.query('SELECT * FROM lead_answers');
    expect(answers).toHaveLength(name === 'Newer' ? 0 : 2);
  });

  test('is the newest of a batch that has it twice', async () => {
    const twice = [
      lead(1),
      lead(1, { client_name: 'Second' }, { version: 2, changedAt: new Date('2026-11-22T00:00:00Z') }),
    ];
    expect(kinds(await deliver(open(), ...twice))).toEqual(['delivered', 'delivered']);
    expect(await database.query('SELECT client_name FROM leads')).toEqual([{ client_name: 'Second' }]);
  });

  test('arrives with a thousand others in a packet of the smallest size that servers have', async () => {
    const many = Array.from({ length: 1000 }, (_, id) => lead(id));
    expect(new Set(kinds(await deliver(open(), ...many)))).toEqual(new Set(['delivered']));
    expect(await leadIds()).toHaveLength(1000);
  });
});

describe('a lead that the database refuses', () => {
  /** Delivers 40 leads, of which number 13 is another one. */
  async function deliverAmong(other: Delivery, sink = open()) {
    const many = Array.from({ length: 40 }, (_, id) => (id === 13 ? other : lead(id)));
    const outcomes = await deliver(sink, ...many);
    expect(outcomes.flatMap(({ kind }, at) => (kind === 'delivered' ? [] : [at]))).toEqual([13]);
    const [refused] = outcomes.filter(({ kind }) => kind === 'refused');
    if (refused?.kind !== 'refused') return expect.fail('it was not refused');
    expect(refused.reason).not.toContain('s3cr3t');
    return refused;
  }

  test.each([
    [
      'is too long for a column',
      'ALTER TABLE leads MODIFY client_name VARCHAR(20) NOT NULL',
      's3cr3t'.repeat(9),
      /1406, SQLSTATE 22001\): Data too long for column 'client_name'/,
    ],
    [
      'has a character that a column does not take',
      'ALTER TABLE leads MODIFY client_name TEXT CHARACTER SET latin1 NOT NULL',
      's3cr3t 漢',
      /1366.*character set of the column/,
    ],
    [
      'violates a CHECK',
      "ALTER TABLE leads ADD CONSTRAINT no_s CHECK (client_name NOT LIKE 's3%')",
      's3cr3t',
      /no_s/,
    ],
    [
      'is signalled by a trigger',
      "CREATE TRIGGER no_s BEFORE INSERT ON leads FOR EACH ROW IF NEW.client_name LIKE 's3%' THEN SET @m = NEW.client_name; SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = @m; END IF",
      's3cr3t',
      /1644, SQLSTATE 45000\): a trigger signalled an error/,
    ],
    [
      'is turned into another one by a trigger',
      "CREATE TRIGGER shift BEFORE INSERT ON leads FOR EACH ROW IF NEW.client_name LIKE 's3%' THEN SET NEW.id = NEW.id + 1000; END IF",
      's3cr3t',
      /did not write the lead.*trigger/,
    ],
  ])('because it %s is refused alone', async (_, sql, client_name, reason) => {
    await deliver(open(), lead(1000));
    await database.query(sql);
    expect((await deliverAmong(lead(13, { client_name }))).reason).toMatch(reason);
  });

  test('because its created_at is a day that does not exist is refused alone', async () => {
    const refused = await deliverAmong(lead(13, { created_at: '2026-02-31T10:00:00Z' }));
    expect(refused.reason).toMatch(/Column 'created_at' cannot be null/);
  });

  test('does not take the place of another lead, although a unique key of one’s own says so', async () => {
    await deliver(open(), lead(1000, { client_email: 's3cr3t@example.com', client_name: 'Keeps its row' }));
    await database.query(
      "ALTER TABLE leads ADD COLUMN own VARCHAR(99) AS (IF(client_email LIKE 's3%', client_email, id)) STORED UNIQUE",
    );
    const refused = await deliverAmong(lead(13, { client_email: 's3cr3t@example.com' }));
    expect(refused.reason).toContain('another unique key');
    expect(await database.query('SELECT client_name FROM leads WHERE id = 1000')).toEqual([
      { client_name: 'Keeps its row' },
    ]);
  });

  test('because it is larger than max_allowed_packet is refused alone, with the number of bytes', async () => {
    const refused = await deliverAmong(lead(13, { client_name: 'x'.repeat(17_000_000) }));
    expect(refused.reason).toMatch(
      /needs a statement of \d+ bytes, and the server accepts \d+: raise max_allowed_packet/,
    );
    expect(refused.unsent).toBe(true);
  });

  test('is not cut where the server’s own sql_mode would cut it', async () => {
    await deliver(open(), lead(1000));
    await database.query('ALTER TABLE leads MODIFY client_name VARCHAR(20) NOT NULL');
    const [{ mode } = {}] = await database.query('SELECT @@GLOBAL.sql_mode AS mode');
    await database.query("SET GLOBAL sql_mode = ''");
    try {
      await deliverAmong(lead(13, { client_name: 's3cr3t'.repeat(9) }));
    } finally {
      await database.query('SET GLOBAL sql_mode = ?', [mode]);
    }
  });
});

describe('a table that is not as leadsync made it', () => {
  const delivered = async () => expect(kinds(await deliver(open(), lead(1)))).toEqual(['delivered']);

  test('because somebody else made it stays untouched, and the message has the statement', async () => {
    await database.query('CREATE TABLE leads (id int PRIMARY KEY, name text)');
    const error = await failure(deliver(open(), lead(1)));
    expect(error.message).toBe(`\`${database.name}\`.\`leads\` is a table that leadsync did not create.`);
    expect((await failure(open().check(NEVER))).message).toBe(error.message);
    expect(kinds(await deliver(open({ prefix: 'ours_' }), lead(1)))).toEqual(['delivered']);
    expect(await database.query('SELECT id FROM ours_leads')).toEqual([{ id: 1 }]);
    await database.query(statementIn(error));
    await delivered();
  });

  test.each([
    [
      'lacks a column',
      'ALTER TABLE leads DROP COLUMN client_email',
      'lacks columns that leadsync writes: client_email',
    ],
    ['lacks its key', 'ALTER TABLE leads DROP PRIMARY KEY', 'has no unique key (`source`, `id`)'],
    [
      'has no transactions',
      'ALTER TABLE leads ENGINE=MyISAM',
      'has the engine MyISAM, which has no transactions',
    ],
    ['has answers without a key', 'ALTER TABLE lead_answers DROP PRIMARY KEY', 'has no unique key'],
  ])('and %s holds the sink, and the statement in the message corrects it', async (_, sql, message) => {
    await delivered();
    await database.query(sql);
    const error = await failure(deliver(open(), lead(2)));
    expect(error.message).toContain(message);
    expect(error.unsent).toBe(true);
    expect((await failure(open().check(NEVER))).message).toBe(error.message);
    const [statement = ''] = statementIn(error).split('. Otherwise');
    await database.query(statement);
    await delivered();
  });

  test('because it was dropped comes back with the attempt after the next', async () => {
    const sink = open();
    await deliver(sink, lead(1));
    await database.query('DROP TABLE lead_answers');
    expect((await failure(deliver(sink, lead(2)))).hint).toContain('leadsync replay');
    expect(kinds(await deliver(sink, lead(2)))).toEqual(['delivered']);
  });
});

describe('rights', () => {
  test.each(['INSERT', 'UPDATE', 'DELETE', 'SELECT'])(
    'without that to %s, check and delivery say so with the GRANT, which is sufficient',
    async (right) => {
      await deliver(open(), lead(1));
      const rights = ['SELECT', 'INSERT', 'UPDATE', 'DELETE'].filter((one) => one !== right).join(', ');
      const { user, url } = await database.addUser(rights);
      const error = await failure(open({ url }).check(NEVER));
      expect(error.message).toMatch(new RegExp(`${right}.* command denied to user '${user}'`));
      await database.query(statementIn(error));
      await open({ url }).check(NEVER);
      expect(kinds(await deliver(open({ url }), lead(2)))).toEqual(['delivered']);
    },
  );

  test('without that to create tables, what `setup --print` shows is sufficient', async () => {
    const { url } = await database.addUser('SELECT, INSERT, UPDATE, DELETE');
    expect((await failure(open({ url }).check(NEVER))).message).toMatch(/CREATE command denied/);
    const columns = [{ name: 'rooms', type: 'bigint' }] as const;
    const missing = (await open({ url }).missingParts?.(NEVER, columns)) ?? [];
    expect(missing.map(({ what }) => what)).toEqual([
      `table \`${database.name}\`.\`leads\``,
      `table \`${database.name}\`.\`lead_answers\``,
      `column \`rooms\` of \`${database.name}\`.\`leads\` (bigint)`,
    ]);
    for (const { how } of missing) await database.query(how);
    await open({ url }).check(NEVER, columns);
    expect(kinds(await deliver(open({ url }), lead(2)))).toEqual(['delivered']);
  });

  test('a wrong password, a missing database and a database of others are said with what to do', async () => {
    const { user, url } = await database.addUser('SELECT');
    expect(await failure(open({ url: url.replace('p%40ss', 's3cr3t') }).check(NEVER))).toMatchObject({
      message: expect.stringMatching(/error 1045, SQLSTATE 28000\): Access denied for user/),
      hint: expect.stringContaining('Check the user and password'),
    });
    const elsewhere = await failure(open({ url: `${database.url}_x` }).check(NEVER));
    expect(elsewhere.message).toContain(`Unknown database '${database.name}_x'`);
    expect(elsewhere.hint).toContain(`CREATE DATABASE \`${database.name}_x\` CHARACTER SET utf8mb4; GRANT `);
    const others = await failure(open({ url: url.replace(database.name, 'mysql') }).check(NEVER));
    expect(others.message).toContain(`error 1044`);
    expect(others.hint).toContain(`ON \`mysql\`.* TO '${user}'@'%'`);
  });
});

describe('a connection', () => {
  test('that breaks after the commit leaves nothing twice, and one that breaks before it leaves nothing', async () => {
    await deliver(open(), lead(1));
    const proxy = await startProxy(database.url);
    const sink = open({ url: proxy.url });
    proxy.cutBeforeCommit();
    const before = await failure(deliver(sink, lead(2)));
    expect(before.message).toMatch(/closed the connection|reset the connection/);
    await until('the server rolled back', async () => (await running()) === 0);
    expect(await leadIds()).toEqual([1]);
    proxy.cutAfterCommit();
    const after = await failure(deliver(sink, lead(2)));
    expect(mayHaveArrived(after.toOutcome())).toBe(true);
    expect(kinds(await deliver(sink, lead(2)))).toEqual(['delivered']);
    expect(await leadIds()).toEqual([1, 2]);
    proxy.close();
  });

  test('that the server closed while it was idle is replaced without a failed attempt', async () => {
    const sink = open({}, { concurrency: 1 });
    await deliver(sink, lead(1));
    for (const { id } of await connections()) await database.query(`KILL ${id}`);
    expect(kinds(await deliver(sink, lead(2)))).toEqual(['delivered']);
  });

  test('is one of as many as there are attempts at a time, and no more', async () => {
    const sink = open({}, { concurrency: 2 });
    await Promise.all(Array.from({ length: 8 }, (_, id) => deliver(sink, lead(id))));
    expect((await connections()).length).toBeLessThanOrEqual(2);
    expect(await leadIds()).toHaveLength(8);
  });

  test('that waits for a lock gives up at the deadline, and the lead arrives once the lock is gone', async () => {
    await deliver(open(), lead(1));
    await database.query('START TRANSACTION; UPDATE leads SET client_name = client_name');
    const sink = open({}, { timeoutMs: 300 });
    const changed = lead(1, {}, { version: 2, changedAt: new Date('2026-11-22T00:00:00Z') });
    expect((await failure(deliver(sink, changed))).message).toMatch(
      /did not finish a transaction within 0.3 s/,
    );
    await database.query('ROLLBACK');
    await until('the lock is gone', async () => (await running()) === 0);
    expect(kinds(await deliver(open(), changed))).toEqual(['delivered']);
  });

  test('sets a session whatever the server’s defaults are', async () => {
    await deliver(open(), lead(1, { client_name: '😀' }));
    expect(await database.query('SELECT HEX(client_name) AS name FROM leads')).toEqual([
      { name: 'F09F9880' },
    ]);
  });

  const connections = () =>
    database.query(
      'SELECT ID AS id FROM information_schema.PROCESSLIST WHERE DB = DATABASE() AND ID <> CONNECTION_ID()',
    );
  const running = async () => {
    const [row] = await database.query(
      'SELECT COUNT(*) AS n FROM information_schema.INNODB_TRX WHERE trx_mysql_thread_id IN (SELECT ID FROM information_schema.PROCESSLIST WHERE DB = DATABASE())',
    );
    return Number(row?.['n']);
  };
});

test('two writers of the same leads in opposite orders both deliver', async () => {
  const [one, other] = [open(), open()];
  await deliver(one, lead(0));
  const leads = Array.from({ length: 200 }, (_, id) => lead(id, {}, { version: 2 }));
  for (let round = 0; round < 5; round += 1) {
    const outcomes = await Promise.all([deliver(one, ...leads), deliver(other, ...leads.toReversed())]);
    expect(new Set(outcomes.flatMap(kinds))).toEqual(new Set(['delivered']));
  }
  expect(await leadIds()).toHaveLength(200);
});

test('erasing deletes the leads and their answers and no others, to the last digit of the id, and finds a person', async () => {
  const big = 9_223_372_036_854_775_807n;
  const mine = { client_email: 'Me@Example.com', client_phone_number: '0412 345 678' };
  await deliver(
    open(),
    lead(1, mine),
    lead(2, { client_email: 'other@example.com', client_phone_number: '0499 999 999' }),
    aDelivery({ leadId: big, raw: aLead({ ...mine, more: 'unknown field' }) }),
    aDelivery({ leadId: big - 1n, raw: aLead({ client_email: 'x@example.com' }) }),
  );
  const sink = open();
  const person =
    (await sink.findPerson?.({ kind: 'email', contact: 'me@example.com' }, NEVER)) ?? expect.fail();
  expect(person.leads).toEqual([
    { source: 'main', leadId: 1n },
    { source: 'main', leadId: big },
  ]);
  expect(await sink.erase?.(person, NEVER)).toBe(6);
  expect(await sink.erase?.(person, NEVER)).toBe(0);
  expect((await leadIds()).map(String)).toEqual(['2', String(big - 1n)]);
  expect(await database.query('SELECT DISTINCT lead_id FROM lead_answers')).toHaveLength(2);
});

test('a test event leaves no row, and needs the same rights as a delivery', async () => {
  await deliver(open(), lead(1));
  const event = testBatch('shop', new Date());
  expect(await open().test(event, NEVER)).toEqual({
    arrived: true,
    what: expect.stringContaining('rolled the transaction back'),
  });
  expect(await leadIds()).toEqual([1]);
  await database.query('ALTER TABLE leads ADD CONSTRAINT real_only CHECK (id > 0)');
  expect(await open().test(event, NEVER)).toEqual({
    arrived: false,
    what: expect.stringContaining('real_only'),
  });
});

test.each([
  ['nonsense', 'must be an address'],
  ['postgres://u@h/d', 'must be an address'],
  ['mysql://u@h', 'must name a database'],
  ['mysql://u@h/d?sslmode=perhaps', 'unknown sslmode'],
  ['mysql://u@h/d?charset=latin1', 'may have the parameters sslmode'],
  ['mysql://u@h/d?sslrootcert=/ca.pem', 'add sslmode=verify-full'],
])('the address %s is a fault of the configuration', (url, fault) => {
  expect(() => openMysql({ url })).toThrow(fault);
});
