import { describe, expect, test } from 'vitest';
import type { Delivery } from '../../../src/leads/delivery.ts';
import { testBatch } from '../../../src/sinks/test-batch.ts';
import { aDelivery } from '../../support/scene/a-delivery.ts';
import { aLead } from '../../support/scene/a-lead.ts';
import { openMysql } from './database.ts';
import { database, deliver, kinds, lead, leadIds, NEVER, open } from './database-of-each-test.ts';

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

  test('is updated by a change, with fewer and other answers, and keeps the time when it was first seen', async () => {
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

describe('a lead that the database rejects', () => {
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
      'has a character that a column does not accept',
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
      'is changed into another one by a trigger',
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

  test('does not replace another lead, although a unique key that a user added would', async () => {
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
      /needs a statement of \d+ bytes, but the server accepts at most \d+: raise max_allowed_packet/,
    );
    expect(refused.unsent).toBe(true);
  });

  test('is not cut, although the sql_mode of the server would cut it', async () => {
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

test('erasing finds a person, and deletes their leads and answers and no others, to the last digit of the id', async () => {
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
