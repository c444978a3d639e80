import { describe, expect, test } from 'vitest';
import { mayHaveArrived } from '../../../src/leads/outcome.ts';
import { SinkUnavailable } from '../../../src/sinks/sink-unavailable.ts';
import { until } from '../../support/time/until.ts';
import { database, deliver, kinds, lead, leadIds, NEVER, open } from './database-of-each-test.ts';
import { startProxy } from './proxy.ts';

const failure = (work: Promise<unknown>) =>
  work.then(
    () => expect.fail('it did not fail'),
    (error: unknown) => {
      expect(error).toBeInstanceOf(SinkUnavailable);
      return error as SinkUnavailable;
    },
  );
/** The statement in a hint. */
const statementIn = ({ hint }: SinkUnavailable) => hint.slice(hint.search(/ALTER|GRANT|RENAME|CREATE/));

describe('a table that differs from what leadsync creates', () => {
  const delivered = async () => expect(kinds(await deliver(open(), lead(1)))).toEqual(['delivered']);

  test('because another program created it is not changed, and the message has the statement', async () => {
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

  test.each(['leads', 'lead_answers'])(
    'because a user drops the key of %s between attempts gets no row twice',
    async (table) => {
      const sink = open();
      await deliver(sink, lead(1));
      await database.query(`ALTER TABLE ${table} DROP PRIMARY KEY`);
      expect((await failure(deliver(sink, lead(1)))).message).toContain('has lost its unique key');
      const error = await failure(deliver(sink, lead(1)));
      await database.query(statementIn(error));
      expect(kinds(await deliver(sink, lead(1), lead(2)))).toEqual(['delivered', 'delivered']);
      expect(await leadIds()).toEqual([1, 2]);
    },
  );

  test('because it was dropped is created by the attempt after the next', async () => {
    const sink = open();
    await deliver(sink, lead(1));
    await database.query('DROP TABLE lead_answers');
    expect((await failure(deliver(sink, lead(2)))).hint).toContain('leadsync replay');
    expect(kinds(await deliver(sink, lead(2)))).toEqual(['delivered']);
  });
});

describe('rights', () => {
  test.each(['INSERT', 'UPDATE', 'DELETE', 'SELECT'])(
    'without the right to %s, check and delivery report the GRANT, which is sufficient',
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

  test('without the right to create tables, the statements of `setup --print` are sufficient', async () => {
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

  test('the errors for a wrong password, a missing database and a database of others have the next step', async () => {
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
  test('that breaks after the commit duplicates no row, and one that breaks before it leaves none', async () => {
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

  test('is one of at most as many connections as there are concurrent attempts', async () => {
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
