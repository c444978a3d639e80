import pg from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { requireDatabaseUrl, uniqueName } from '../../support/servers/services.ts';
import { Install } from '../an-install.ts';

const FIELDS = { phone: 'phone(lead.client_phone_number)', rooms: 'int(default(answer("bedrooms"), "0"))' };

/** An install whose sink `warehouse` logs in as a user without any right, and a connection of the owner of the database. */
async function anInstall() {
  const url = new URL(requireDatabaseUrl());
  const [schema, user, password] = [uniqueName('setup'), uniqueName('worker'), uniqueName('password')];
  const owner = new pg.Pool({ connectionString: url.href, max: 1 });
  await owner.query(`CREATE ROLE ${user} LOGIN PASSWORD '${password}'`);
  onTestFinished(async () => {
    await owner.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
    await owner.query(`DROP OWNED BY ${user}; DROP ROLE ${user}`);
    await owner.end();
  });
  const asUser = new URL(url);
  Object.assign(asUser, { username: user, password });
  const sinkAs = (address: URL) => ({
    warehouse: { type: 'postgres', url: address.href, schema, region: 'AU', fields: FIELDS },
    drop: { type: 'csv', directory: './drop' },
  });
  return {
    owner,
    schema,
    user,
    asOwner: new Install({ sinks: sinkAs(url) }),
    asUser: new Install({ sinks: sinkAs(asUser) }),
  };
}

describe('leadsync setup', () => {
  test('shows what is missing, creates it with --yes, and then finds nothing missing', async () => {
    const { asOwner, owner, schema } = await anInstall();
    const shown = await asOwner.run(['setup', 'warehouse']);
    expect(shown).toMatchObject({ code: 0, stderr: '' });
    expect(shown.stdout.split('\n')).toEqual([
      `missing schema "${schema}" with its tables`,
      `missing column "phone" of "${schema}".leads (text)`,
      `missing column "rooms" of "${schema}".leads (bigint)`,
      expect.stringMatching(
        /^Nothing was changed\. .*setup warehouse --yes.* creates what is missing; .*--print/,
      ),
      '',
    ]);
    const { rows } = await owner.query('SELECT to_regnamespace($1) AS schema', [schema]);
    expect(rows).toEqual([{ schema: null }]);
    const made = await asOwner.run(['setup', 'warehouse', '--yes']);
    expect(made).toMatchObject({ code: 0, stderr: '' });
    expect(made.stdout).toBe(shown.stdout.replaceAll('missing ', 'made    ').replace(/Nothing.*\n/, ''));
    expect((await asOwner.run(['setup', 'warehouse'])).stdout).toBe('sink warehouse: nothing is missing.\n');
    expect((await asOwner.run(['setup', 'warehouse', '--json'])).stdout).toContain('"parts": []');
  });

  test('prints what an administrator runs for a user without rights, who can then deliver', async () => {
    const { asUser, owner } = await anInstall();
    const refused = await asUser.run(['setup', 'warehouse', '--yes']);
    expect(refused).toMatchObject({ code: 69, stdout: '' });
    expect(refused.stderr).toContain('has no right to CREATE on the DATABASE');
    expect(refused.stderr).toContain('setup warehouse --print');
    const { stdout, stderr, code } = await asUser.run(['setup', 'warehouse', '--print']);
    expect({ stderr, code }).toEqual({ stderr: '', code: 0 });
    await owner.query(stdout);
    expect((await asUser.run(['setup', 'warehouse'])).stdout).toBe('sink warehouse: nothing is missing.\n');
    expect((await asUser.run(['check'])).stdout).toContain(
      'ok      sink warehouse: Logged in, with the rights to write; nothing was written.',
    );
    expect(await asUser.run(['test-sink', 'warehouse'])).toMatchObject({ code: 0 });
  });

  test('prints what is wrong with its arguments', async () => {
    const install = new Install();
    expect((await install.run(['setup', 'drop'])).stdout).toBe(
      'sink drop: a sink of this type needs no preparation.\n',
    );
    expect(await install.run(['setup', 'dorp'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('did you mean "drop"'),
    });
    expect(await install.run(['setup', 'drop', '--yes', '--print'])).toMatchObject({ code: 2, stdout: '' });
  });
});

describe('leadsync fields', () => {
  test('lists the fields of the destination, and which of them a mapping can write', async () => {
    const { asOwner } = await anInstall();
    const before = await asOwner.run(['fields', 'warehouse']);
    expect(before).toMatchObject({ code: 69, stdout: '' });
    expect(before.stderr).toContain('`leadsync setup warehouse` creates it');
    await asOwner.run(['setup', 'warehouse', '--yes']);
    const { stdout } = await asOwner.run(['fields', 'warehouse', '--json']);
    const fields = JSON.parse(stdout) as { name: string; writable: boolean }[];
    expect(fields.filter(({ writable }) => writable).map(({ name }) => name)).toEqual(['phone', 'rooms']);
    expect(fields).toContainEqual({ name: 'rooms', type: 'bigint', writable: true, required: false });
    expect((await asOwner.run(['fields', 'warehouse'])).stdout).toMatch(/^FIELD +TYPE +NOTES\n/);
  });

  test('says that a destination without a list accepts every name', async () => {
    const { code, stderr } = await new Install().run(['fields', 'drop']);
    expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining('accepts any name') });
  });
});

test('leadsync check compares the fields of a mapping with the columns of the destination', async () => {
  const { asOwner, asUser, owner, schema, user } = await anInstall();
  await asOwner.run(['setup', 'warehouse', '--yes']);
  await owner.query(`ALTER TABLE ${schema}.leads ALTER COLUMN rooms TYPE date USING NULL`);
  const wrong = await asOwner.run(['check']);
  expect(wrong.stdout).toMatch(
    /FAILED {2}sink warehouse: The column "rooms" .* has the type date, but its field has the type bigint\./,
  );
  await owner.query(`ALTER TABLE ${schema}.leads DROP COLUMN rooms`);
  expect((await asOwner.run(['check'])).stdout).toContain('ok      sink warehouse');
  const grants = ['USAGE ON SCHEMA', 'SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA'];
  for (const grant of grants) await owner.query(`GRANT ${grant} ${schema} TO ${user}`);
  expect((await asUser.run(['check'])).stdout).toMatch(
    /FAILED {2}sink warehouse: .* lacks columns for fields, and this user may not add them, because it does not own the table\..*Run as its owner: ALTER TABLE/,
  );
});

test.each(['setup', 'fields'])(
  '%s leaves no listener for stop signals behind if it fails',
  async (command) => {
    const url = 'postgres://nobody@127.0.0.1:9/none';
    const install = new Install({ sinks: { warehouse: { type: 'postgres', url } } });
    const before = process.listenerCount('SIGTERM');
    expect((await install.run([command, 'warehouse'])).code).toBe(69);
    expect(process.listenerCount('SIGTERM')).toBe(before);
  },
);
