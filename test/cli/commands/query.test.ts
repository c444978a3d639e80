import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it, onTestFinished } from 'vitest';
import { queries, relations } from '../../../src/catalog/catalog.ts';
import { SmallDisk } from '../../support/files/small-disk.ts';
import { tempDir } from '../../support/files/temp-dir.ts';
import { runLeadsync, startLeadsync } from '../../support/program/leadsync.ts';
import { aListedLead } from '../../support/scene/a-lead.ts';
import { until } from '../../support/time/until.ts';
import { Install } from '../an-install.ts';

const ENDLESS = 'WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r)';

function rowsOf(file: string): unknown[] {
  const db = new Database(file, { readonly: true });
  try {
    return [db.prepare('SELECT * FROM polls').all(), db.pragma('journal_mode')];
  } finally {
    db.close();
  }
}

/** The child of a process that has used a second of a processor's time: a query that is under way; undefined until then. */
function busyChildOf(pid: number | undefined): string | undefined {
  const [child] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
  if (!child) return undefined;
  const userTicks = Number(readFileSync(`/proc/${child}/stat`, 'utf8').replace(/.*\) /, '').split(' ')[11]);
  return userTicks > 100 ? child : undefined;
}

async function withLeads(ids: readonly (number | bigint)[] = [1, 2n ** 63n - 1n]): Promise<Install> {
  const install = new Install();
  const ledger = await install.ledger();
  const poll = await ledger.startPoll('main');
  await ledger.record(
    poll,
    ids.map((id, position) => aListedLead({ id, client_name: '\u001b[31mred "a", b' }, position)),
  );
  await ledger.finishPoll(poll, { status: 'success', bytes: 1, httpStatus: 200, mark: undefined });
  return install;
}

describe('leadsync query', () => {
  it('prints CSV if its output is not a terminal, with ids to the last digit', async () => {
    const install = await withLeads();
    const { stdout, code } = await install.run(['query', 'SELECT id, client_name FROM leads ORDER BY id']);
    expect(code).toBe(0);
    expect(stdout).toBe(
      'id,client_name\r\n1,"\u001b[31mred ""a"", b"\r\n9223372036854775807,"\u001b[31mred ""a"", b"\r\n',
    );
  });

  it('prints JSON lines', async () => {
    const install = await withLeads();
    const sql = "SELECT max(id) AS id, null AS none, 1.5 AS part, x'00ff' AS bytes, 'a' AS text FROM leads";
    const { stdout } = await install.run(['query', sql, '--format', 'jsonl']);
    expect(stdout).toBe('{"id":9223372036854775807,"none":null,"part":1.5,"bytes":"00ff","text":"a"}\n');
  });

  it('distinguishes null from an empty text in CSV, as exports do', async () => {
    const install = await withLeads();
    const { stdout } = await install.run([
      'query',
      "SELECT null AS none, '' AS empty, x'' AS bytes, ' a' AS text",
    ]);
    expect(stdout).toBe('none,empty,bytes,text\r\n,"",""," a"\r\n');
  });

  it('rejects JSON lines with two columns of the same name', async () => {
    const install = await withLeads();
    const asked = ['query', 'SELECT 1 AS id, 2 AS id'];
    const { code, stdout, stderr } = await install.run([...asked, '--format', 'jsonl']);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain('Two columns are named "id"');
    expect((await install.run(asked)).stdout).toBe('id,id\r\n1,2\r\n');
  });

  it('lists the columns of the query’s tables if it names a column that they lack', async () => {
    const install = await withLeads();
    const { stderr } = await install.run(['query', 'SELECT p.finishd_at FROM polls p']);
    expect(stderr).toContain('no such column: p.finishd_at');
    expect(stderr).toContain('did you mean "finished_at"?');
    expect(stderr).toMatch(/^polls has .*\bstatus\b/m);
  });

  it('prints a table on a terminal, with the control characters of leads escaped', async () => {
    const install = await withLeads();
    const { stdout } = await install.run(['query', 'SELECT id, client_name FROM leads'], { columns: 80 });
    expect(stdout).toContain('ID'.toLowerCase());
    expect(stdout).toContain('\\u001b[31mred');
    expect(stdout).not.toContain('\u001b');
  });

  it('prints a thousand rows on a terminal, and says that there are more', async () => {
    const install = await withLeads();
    const sql = `${ENDLESS} SELECT n FROM r`;
    const { stdout, stderr, code } = await install.run(['query', sql], { columns: 80 });
    expect(code).toBe(0);
    expect(stdout.trimEnd().split('\n')).toHaveLength(1001);
    expect(stderr).toContain('the first 1000 rows; there are more');
  });

  it('prints a result of any size', async () => {
    const install = await withLeads();
    const sql = `${ENDLESS} SELECT n, hex(zeroblob(50)) FROM r LIMIT 100000`;
    const { stdout } = await install.run(['query', sql]);
    expect(stdout.split('\r\n')).toHaveLength(100_002);
  });

  it('reads SQL from standard input', async () => {
    const install = await withLeads();
    const { stdout } = await install.run(['query', '-'], {
      stdin: '-- how many\nSELECT count(*) AS n FROM leads',
    });
    expect(stdout).toBe('n\r\n2\r\n');
  });

  it('lists every table, view and documented query', async () => {
    const { stdout } = await new Install().run(['query', '--list']);
    for (const { name } of relations) expect(stdout).toContain(name);
    for (const { name } of queries) expect(stdout).toContain(`@${name} `);
  });

  it.each(relations)('lists the columns of $name', async ({ name, columns }) => {
    const { stdout } = await new Install().run(['query', '--list', name]);
    expect(stdout.split('\n').map((line) => line.split(' ')[0])).toEqual([
      'COLUMN',
      ...columns.map((column) => column.name),
      '',
    ]);
  });

  it('suggests the table or view that was meant if the name does not exist', async () => {
    const { code, stdout, stderr } = await new Install().run(['query', '--list', 'delivries']);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain('There is no table or view "delivries": did you mean "deliveries"?');
  });

  it.each(queries)('runs the documented query @$name', async ({ name, parameters }) => {
    const install = await withLeads();
    const set = parameters.some((one) => one.name === 'lead')
      ? ['--set', 'source=main', 'lead=1', 'at=1h']
      : [];
    const { code, stderr } = await install.run(['query', `@${name}`, ...set]);
    expect(`${code} ${stderr.replace('No rows.\n', '')}`).toBe('0 ');
  });

  it('binds the values of --set in a documented query, ids to the last digit', async () => {
    const install = await withLeads();
    const at = install.clock.in(1000).toISOString();
    const { stdout } = await install.run([
      'query',
      '@lead-as-of',
      '--set',
      'source=main',
      `lead=${2n ** 63n - 1n}`,
      `at=${at}`,
    ]);
    expect(stdout).toContain('9223372036854775807');
  });

  it('rejects --set with a name that the SQL does not have', async () => {
    const install = await withLeads();
    const asked = ['query', 'SELECT :since, @to', '--set', 'since=2h', 'until=1h'];
    const { code, stderr } = await install.run(asked);
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: 'The query has no :until.\nIts parameters are since, to.\n',
    });
  });

  it.each([
    ['25000', 'integer', '25000'],
    ['-1', 'integer', '-1'],
    ['9223372036854775807', 'integer', '9223372036854775807'],
    ['1.50', 'real', '1.5'],
    ['9223372036854775808', 'text', '9223372036854775808'],
    ['0412345678', 'text', '0412345678'],
    ['+61412345678', 'text', '+61412345678'],
    ["'61412345678'", 'text', '61412345678'],
    ["'it''s'", 'text', "it's"],
    ["'1d'", 'text', '1d'],
    ["O'Neill", 'text', "O'Neill"],
    ['2026-11-20', 'text', '2026-11-20'],
    ['1e5', 'text', '1e5'],
  ])('binds --set n=%s in SQL from the command line as %s', async (given, type, value) => {
    const install = await withLeads();
    const { stdout } = await install.run(['query', 'SELECT typeof(:n), :n', '--set', `n=${given}`]);
    expect(stdout.split('\r\n')[1]).toBe(`${type},${value}`);
  });

  it.each([
    ['its own SQL', 'SELECT :a AS a, :b AS b', 'a,b\r\n1,2\r\n'],
    ['SQL with an equals sign', 'SELECT :a AS a WHERE :b = 2', 'a\r\n1\r\n'],
    ['standard input', '-', 'a,b\r\n1,2\r\n'],
  ])('accepts --set before %s', async (_, asked, stdout) => {
    const install = await withLeads();
    const stdin = 'SELECT :a AS a, :b AS b';
    for (const set of [
      ['--set', 'a=1', 'b=2'],
      ['--set', 'a=1', '--set', 'b=2'],
    ]) {
      expect(await install.run(['query', ...set, asked], { stdin })).toMatchObject({
        code: 0,
        stderr: '',
        stdout,
      });
    }
  });

  it('accepts --set before a documented query, and asks for a query if there is only --set', async () => {
    const install = await withLeads();
    expect(await install.run(['query', '--set', 'since=7d', '@speed-to-lead'])).toMatchObject({ code: 0 });
    expect(await install.run(['query', '--set', 'since=7d'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('No query was given.'),
    });
  });

  it('compares a number from --set with a count', async () => {
    const install = await withLeads();
    const asked = 'SELECT count(*) AS n FROM leads HAVING count(*) > :least';
    expect((await install.run(['query', asked, '--set', 'least=1'])).stdout).toBe('n\r\n2\r\n');
    expect((await install.run(['query', asked, '--set', 'least=2'])).stdout).toBe('n\r\n');
  });

  it('finds digits in a column of text, and prints what an expression of text needs', async () => {
    const install = await withLeads();
    const ledger = await install.ledger();
    const poll = await ledger.startPoll('main');
    await ledger.record(poll, [aListedLead({ id: 77, client_phone_number: '61412345678' })]);
    await ledger.finishPoll(poll, { status: 'success', bytes: 1, httpStatus: 200, mark: undefined });
    const asked = ['query', 'SELECT id FROM leads WHERE client_phone_number = :phone', '--set'];
    for (const given of ["phone='61412345678'", 'phone=61412345678'])
      expect(await install.run([...asked, given])).toMatchObject({ stdout: 'id\r\n77\r\n', stderr: '' });
    const expression = ['query', "SELECT id FROM leads WHERE client_phone_number || '' = :phone", '--set'];
    expect(await install.run([...expression, "phone='61412345678'"])).toMatchObject({
      stdout: 'id\r\n77\r\n',
    });
    expect(await install.run([...expression, 'phone=61412345678'])).toMatchObject({
      stdout: 'id\r\n',
      stderr:
        'No rows.\n:phone was read as a number. If it is compared with text, put it in quotes: --set "phone=\'…\'".\n',
    });
  });

  it.each(['since', 'until', 'anything'])(
    'converts a duration from --set into a time for :%s',
    async (name) => {
      const install = await withLeads();
      const { stdout } = await install.run(['query', `SELECT :${name}`, '--set', `${name}=2h`]);
      expect(stdout.split('\r\n')[1]).toBe(install.clock.in(-7_200_000).toISOString());
    },
  );

  it.each([
    ['SELECT * FROM nowhere', 'SQLite says: no such table: nowhere.'],
    ['SELEC 1', 'This is not a query.'],
    ['', 'This is not a query.'],
    ['SELECT 1; SELECT 2', 'more than one statement'],
    ['SELECT :x', 'Missing named parameter "x"'],
    ["SELECT load_extension('x')", 'not authorized'],
    ["SELECT id FROM leads LIMIT 'all'", 'SQLite says: datatype mismatch.'],
    ['SELECT zeroblob(2000000000)', 'SQLite says: string or blob too big.'],
    ['@nothing', 'There is no documented query "nothing"'],
    ['@speed-to-led', 'did you mean "speed-to-lead"'],
    ['@lead-as-of', 'The query needs a value for :source.'],
  ])('prints what is wrong with: %s', async (sql, sentence) => {
    const install = await withLeads();
    const { code, stdout, stderr } = await install.run(['query', sql]);
    expect(stderr).toContain(sentence);
    expect([code, stdout]).toEqual([2, '']);
  });

  it.each([
    'DELETE FROM polls',
    'WITH x AS (SELECT 1) DELETE FROM polls',
    'WITH x AS (SELECT 1) DELETE FROM polls RETURNING *',
    'INSERT INTO polls (source, started_at, status) VALUES (1, 2, 3) RETURNING 1',
    'PRAGMA query_only = OFF',
    'PRAGMA journal_mode = DELETE',
    'VACUUM',
    'BEGIN IMMEDIATE',
    'CREATE TEMP TABLE t (a)',
    "/* SELECT */ ATTACH 'other.db' AS other",
  ])('writes nothing, whatever the SQL is: %s', async (sql) => {
    const install = await withLeads();
    const ledger = join(install.folder, 'data', 'ledger.db');
    const before = rowsOf(ledger);
    expect((await install.run(['query', sql])).code).toBe(2);
    expect(rowsOf(ledger)).toEqual(before);
  });

  it('attaches no other file', async () => {
    const install = await withLeads();
    const other = join(tempDir(), 'other.db');
    const { code } = await install.run(['query', `ATTACH '${other}' AS other`]);
    expect([code, existsSync(other)]).toEqual([2, false]);
  });

  it('ends at its timeout, even inside a step of SQLite', async () => {
    const install = await withLeads();
    const startMs = performance.now();
    const { code, stderr } = await install.run([
      'query',
      `${ENDLESS} SELECT max(n) FROM r`,
      '--timeout',
      '0.5',
    ]);
    expect(code).toBe(1);
    expect(stderr).toContain('took longer than 0.5 s and was stopped');
    expect(performance.now() - startMs).toBeLessThan(10_000);
  });

  it('ends if it takes more memory than the limit', async () => {
    const install = await withLeads();
    // One text grows to 300 MB, and is held for ever.
    const large = `WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r LIMIT 301), endless(m) AS (SELECT 1 UNION ALL SELECT m + 1 FROM endless)
      SELECT length(group_concat(iif(n <= 300, hex(randomblob(500000)), (SELECT max(m) FROM endless WHERE m > n)))) FROM r`;
    const { code, stderr } = await install.run(['query', large, '--memory', '200mb', '--timeout', '60']);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringContaining('used more than 200 MB of memory'),
    });
    expect(await install.run(['query', 'SELECT 1', '--memory', '1mb'])).toMatchObject({ code: 2 });
  });

  it('names the full disk if there is no space for its temporary files', async (context) => {
    const install = await withLeads();
    const disk = new SmallDisk(join(install.folder, 'small'), 1);
    onTestFinished(() => disk.close());
    if (!disk.own)
      context.skip('needs a file system of its own, which this machine does not let the tests mount');
    const sorted = `WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r LIMIT 40000), texts AS (SELECT hex(randomblob(200)) AS t FROM r)
      SELECT t FROM texts ORDER BY t`;
    const asked = await runLeadsync(['query', sorted, '-c', install.configFile], {
      env: { SQLITE_TMPDIR: join(install.folder, 'small') },
    });
    expect(asked).toMatchObject({ code: 1, stdout: '' });
    expect(asked.stderr).toMatch(/no space for the temporary files.*\n.*SQLITE_TMPDIR/);
    expect(asked.stderr).not.toMatch(/ledger\.db/);
  });

  it('ends its process when the command ends, even if the command is killed', async () => {
    const install = await withLeads();
    const asked = startLeadsync([
      'query',
      `${ENDLESS} SELECT max(n) FROM r`,
      '--timeout',
      '600',
      '-c',
      install.configFile,
    ]);
    onTestFinished(() => void asked.kill('SIGKILL'));
    const { pid } = asked.process;
    const child = await until('the query runs', () => busyChildOf(pid));
    const environment = readFileSync(`/proc/${child}/environ`, 'utf8').split('\0');
    expect(environment.filter((one) => one.startsWith('NODE_COMPILE_CACHE='))).toHaveLength(1);
    await asked.kill('SIGKILL');
    await until('its process has ended', () => !existsSync(`/proc/${child}`), 10_000);
  });

  it('does not block writers while it runs', async () => {
    const install = await withLeads();
    const ledger = await install.ledger();
    const asked = install.run([
      'query',
      `${ENDLESS} SELECT max(n), (SELECT count(*) FROM leads) FROM r`,
      '--timeout',
      '2',
    ]);
    for (let round = 0; round < 20; round += 1) {
      const poll = await ledger.startPoll('main');
      await ledger.record(poll, [aListedLead({ id: 100 + round })]);
      await ledger.finishPoll(poll, { status: 'success', bytes: 1, httpStatus: 200, mark: undefined });
    }
    expect((await install.run(['query', 'SELECT count(*) FROM leads'])).stdout).toContain('22');
    expect((await asked).code).toBe(1);
  });

  it('says so if there is no ledger yet, and creates none', async () => {
    const install = new Install();
    const { code, stderr } = await install.run(['query', 'SELECT 1']);
    expect(code).toBe(1);
    expect(stderr).toContain('There is no ledger at');
    expect(existsSync(join(install.folder, 'data'))).toBe(false);
  });
});
