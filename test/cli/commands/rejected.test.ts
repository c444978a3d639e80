import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { ListedItem } from '../../../src/leads/listed-lead.ts';
import { aListedLead } from '../../support/scene/a-lead.ts';
import { Install } from '../an-install.ts';

const rejected = (id: number, position: number): ListedItem => ({
  kind: 'rejected',
  position,
  id: BigInt(id),
  hash: String(id).padStart(32, '0'),
  raw: `{"id":${id},"client_email":"canary@example.com"}`,
  path: 'client_email',
  reason: 'must be text',
});

/** An installation whose last listing has the rejected leads 7 and 8, and no longer has 6. */
async function someRejected() {
  const install = new Install();
  await install.recorded([rejected(6, 0), rejected(7, 1)]);
  install.clock.jump(60_000);
  await install.recorded([rejected(7, 0), rejected(8, 1), aListedLead({ id: 9 }, 2)]);
  return install;
}

const auditOf = (install: Install) =>
  readFileSync(join(install.folder, 'data', 'audit.jsonl'), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));

describe('leadsync rejected', () => {
  test('lists the open ones, newest first, with the fault of each and without their text', async () => {
    const install = await someRejected();
    const { stdout, code } = await install.run(['rejected']);
    expect(code).toBe(0);
    const [head, ...lines] = stdout.trimEnd().split('\n');
    expect(head).toMatch(/^ *ID +FIRST REJECTED +LAST REJECTED +SOURCE +LEAD +STATE +FAULT/);
    expect(lines.map((line) => line.replace(/^ *(\d+) .* main +(\d+) +/, '$1 $2 '))).toEqual([
      '3 8 open   client_email: must be text',
      '2 7 open   client_email: must be text',
    ]);
    expect(stdout).not.toContain('canary');
  });

  test('lists those of a state and a source', async () => {
    const install = await someRejected();
    const listed = async (...args: string[]) => {
      const { rejected: rows } = (await install.json('rejected', ...args)) as {
        rejected: { lead_id: string; state: string }[];
      };
      return rows.map(({ lead_id, state }) => `${lead_id} ${state}`);
    };
    expect(await listed('--state', 'any')).toEqual(['8 open', '7 open', '6 gone']);
    expect(await listed('--state', 'gone', '--source', 'main')).toEqual(['6 gone']);
    expect(await listed('--state', 'resolved')).toEqual([]);
    expect((await install.run(['rejected', '--state', 'resolved'])).stderr).toBe(
      'No rejected lead matches.\n',
    );
    expect((await install.run(['rejected', '--source', 'mian'])).code).toBe(2);
  });

  test('prints CSV with the columns of the pages, and the text only if it was requested', async () => {
    const install = await someRejected();
    const { stdout, stderr } = await install.run(['rejected', '--csv', '--limit', '1']);
    const [head, line, ...more] = stdout.split('\r\n');
    expect(head).toMatch(/^rejected_id,source,lead_id,path,reason,.*,state$/);
    expect(line).toMatch(/^3,main,8,client_email,must be text,.*,open$/);
    expect(more).toEqual(['']);
    expect(stderr).toContain('there are more');
    const shown = await install.run(['rejected', '3', '--csv', '--show-data']);
    expect(shown.stdout).toMatch(/,state,raw\r\n3,.*canary@example\.com/);
    expect(auditOf(install)).toMatchObject([{ what: 'reveal', rejected: 3 }]);
    const none = await install.run(['rejected', '--csv', '--state', 'resolved']);
    expect([none.code, none.stdout, none.stderr]).toEqual([0, `${head}\r\n`, '']);
    expect((await install.run(['rejected', '--csv', '--json'])).code).toBe(2);
  });

  test('says when there are more, and continues there', async () => {
    const install = await someRejected();
    const first = await install.run(['rejected', '--state', 'any', '--limit', '2']);
    expect(first.stderr).toBe(
      'These are the newest 2; there are more. Continue with --before 2 or a higher --limit.\n',
    );
    expect(await install.json('rejected', '--state', 'any', '--before', '2')).toMatchObject({
      rejected: [{ rejected_id: 1, lead_id: '6' }],
      more: false,
    });
  });

  test('shows the text of a rejected lead, and the audit log names the lead', async () => {
    const install = await someRejected();
    const { stdout } = await install.run(['rejected', '1', '--show-data']);
    expect(stdout).toContain('{"id":6,"client_email":"canary@example.com"}\n');
    expect(auditOf(install)).toMatchObject([
      { via: 'cli', what: 'reveal', rejected: 1, source: 'main', lead: '6' },
    ]);
    expect(await install.json('rejected', '1', '--show-data')).toMatchObject({
      rejected: [{ raw: expect.stringContaining('canary') }],
    });
    expect(JSON.stringify(auditOf(install))).not.toContain('canary');
  });

  test('prints what is wrong with an id', async () => {
    const install = await someRejected();
    const { stderr, code } = await install.run(['rejected', '99']);
    expect({ stderr, code }).toEqual({
      stderr: expect.stringContaining('There is no rejected lead 99.'),
      code: 2,
    });
    expect(await install.run(['rejected', '--show-data'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--show-data needs the id of a rejected lead.'),
    });
    expect((await install.run(['rejected', 'x'])).code).toBe(2);
  });
});
