import { writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { attemptDue, Install } from '../an-install.ts';

const refused = { kind: 'refused', reason: 'The CRM refuses the lead (422).', httpStatus: 422 } as const;
const delivered = { kind: 'delivered' } as const;

/** Returns an install whose sink crm refused every even lead up to `n`, a few at a time so that it is not held. */
async function withDead(n = 4) {
  const install = new Install();
  const ledger = await install.listed(...Array.from({ length: n }, (_, index) => index + 1));
  for (let left = n; left > 0; left -= 100)
    await attemptDue(ledger, 'crm', install.clock, (lead) => (Number(lead) % 2 === 0 ? refused : delivered));
  const deadId = async (lead: bigint) =>
    (await ledger.deliveries({ sink: 'crm', lead }, { limit: 1 }))[0]?.delivery ?? '';
  const states = async () => {
    const sink = (await ledger.status()).sinks.find((one) => one.sink === 'crm');
    return { dead: sink?.dead, skipped: sink?.skipped, pending: sink?.pending, replays: sink?.replays };
  };
  return { install, ledger, deadId, states };
}

/** Standard input of a person who types a line on a terminal. */
function typed(line: string): Readable {
  return Object.assign(Readable.from([line]), { isTTY: true });
}

/** Writes a list of ids and returns its path. */
function aList(install: Install, text: string): string {
  const file = join(install.folder, 'ids.txt');
  writeFileSync(file, text);
  return file;
}

describe('leadsync discard', () => {
  test('gives up dead deliveries with a note: no alert remains, and deliveries and trace show who did it, and why', async () => {
    const { install, deadId } = await withDead();
    const note = '<b>rung</b> by hand\u001b[2J';
    const { code, stdout, stderr } = await install.run([
      'discard',
      '--sink',
      'crm',
      '--reason',
      '422',
      '--note',
      note,
    ]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: '2 deliveries are discarded.\n' });
    expect(stderr).toContain(
      '`leadsync retry --state discarded`, or with the id of a delivery, makes them due again.',
    );
    expect((await install.run(['status'])).stdout).not.toContain('dead delivery');
    const said = `discarded by ${userInfo().username}: <b>rung</b> by hand [2J. Dead before: The CRM refuses the lead (422).`;
    for (const args of [
      ['deliveries', '--state', 'discarded'],
      ['trace', '2'],
    ])
      expect((await install.run(args)).stdout).toContain(said);
    const back = await install.run(['retry', await deadId(2n)]);
    expect(back.stdout).toBe(`${await deadId(2n)} is due now.\n`);
    expect((await install.run(['retry', '--state', 'discarded'])).stdout).toBe('1 delivery is due now.\n');
  });

  test('--dry-run says how many of which sink, state and reason, and changes nothing', async () => {
    const { install, states } = await withDead();
    expect(await install.run(['discard', '--all', '--dry-run'])).toEqual({
      code: 0,
      stdout:
        'Dry run: 2 dead deliveries would be discarded.\n  2 dead for crm, source main: The CRM refuses the lead (422).\n',
      stderr: '',
    });
    expect(await states()).toMatchObject({ dead: 2 });
  });

  test('ids come as arguments, from a file or from standard input; those that select nothing are named', async () => {
    const { install, deadId, states } = await withDead(8);
    const file = aList(
      install,
      `\ufeff# by hand\r\n2\n\n2\n1\n${await deadId(4n)}\ndrop:main:6:1:0a1b2c3d\n`,
    );
    const { code, stdout, stderr } = await install.run(['discard', '--ids', file, '--note', 'n']);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '2 deliveries are discarded.\n' });
    expect(stderr).toContain('2 ids select no dead delivery: 1, drop:main:6:1:0a1b2c3d.');
    const more = await install.run(['discard', '--ids', '-', await deadId(6n), '--note', 'n'], {
      stdin: '8\n',
    });
    expect(more).toMatchObject({ code: 0, stdout: '2 deliveries are discarded.\n' });
    expect(await states()).toMatchObject({ dead: 0, skipped: 4 });
  });

  test('asks before it discards more than 100, and needs --yes in a script', async () => {
    const { install, states } = await withDead(400);
    const all = ['discard', '--all', '--note', 'n'];
    const script = await install.run(all);
    expect(script).toMatchObject({ code: 1, stdout: '' });
    expect(script.stderr).toBe(
      'Nothing was changed. This discards 200 dead deliveries.\nRun the same command with --yes to do it, or with --dry-run to see the details.\n',
    );
    for (const answer of ['n\n', '\n', '']) {
      const no = await install.run(all, { stdin: typed(answer) });
      expect(no).toMatchObject({ code: 1, stdout: '' });
      expect(no.stderr).toContain('This discards 200 dead deliveries. Continue? [y/N] ');
    }
    expect(await states()).toMatchObject({ dead: 200 });
    expect(await install.run(all, { stdin: typed('y\n') })).toMatchObject({
      code: 0,
      stdout: '200 deliveries are discarded.\n',
    });
  });

  test.each([
    [['discard', '--note', 'n'], '--all selects every dead delivery of every sink.'],
    [['discard', '--all'], 'Say with --note TEXT why the deliveries are given up.'],
    [['discard', '--all', '--note', ' '], '--note needs 1 to 200 characters.'],
    [['discard', '--all', '--note', 'x'.repeat(201)], '--note needs 1 to 200 characters.'],
    [['discard', '--sink', 'cmr', '--note', 'n'], 'did you mean "crm"'],
    [['discard', '--all', '--sink', 'crm', '--note', 'n'], '--all selects everything'],
    [['discard', '--reason', ' ', '--note', 'n'], '--reason needs text or an HTTP status.'],
    [
      ['discard', '--ids', '/nowhere/ids', '--note', 'n'],
      'The list of ids /nowhere/ids cannot be read (ENOENT).',
    ],
    [['discard', '--ids', '-', '--note', 'n'], 'Standard input contains no ids.'],
    [['discard', '--since', '1h', '--until', '2h', '--note', 'n'], '--since must be before --until'],
  ])('takes %j for wrong usage', async (args, message) => {
    const { install, states } = await withDead();
    const { code, stdout, stderr } = await install.run(args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(message);
    expect(await states()).toMatchObject({ dead: 2 });
  });

  test('names the line that is not an id, without its text', async () => {
    const { install } = await withDead();
    const { code, stderr } = await install.run([
      'discard',
      '--note',
      'n',
      '--ids',
      aList(install, '1\nAda Lovelace\n'),
    ]);
    expect(code).toBe(2);
    expect(stderr).toContain('ids.txt, line 2: this is neither a lead id nor the id of a delivery.');
    expect(stderr).not.toContain('Ada');
  });
});

describe('leadsync replay', () => {
  test('more than one lead needs --yes in a script, or a yes on the terminal; --dry-run only counts', async () => {
    const { install, states } = await withDead();
    const all = ['replay', '--sink', 'crm', '--all'];
    expect(await install.run([...all, '--dry-run'])).toEqual({
      code: 0,
      stdout: 'Dry run: this would send 4 leads to crm again.\n',
      stderr: '',
    });
    expect(await install.run(all)).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('Nothing was changed. This sends 4 leads to crm again.'),
    });
    expect(await install.run(all, { stdin: typed('no\n') })).toMatchObject({ code: 1, stdout: '' });
    expect(await states()).toMatchObject({ replays: 0 });
    const yes = await install.run(all, { stdin: typed('YES\n') });
    expect(yes).toMatchObject({ code: 0, stdout: '4 leads are owed to crm again.\n' });
    expect(yes.stderr).toContain('This sends 4 leads to crm again. Continue? [y/N] ');
    expect(yes.stderr).toContain('`leadsync cancel-replay crm` cancels what is still pending.');
  });

  test('reports a lead id that exists in two sources', async () => {
    const { install, ledger } = await withDead();
    const poll = await ledger.startPoll('south');
    const { aListedLead } = await import('../../support/scene/a-lead.ts');
    await ledger.record(poll, [aListedLead({ id: 1 })]);
    await ledger.finishPoll(poll, { status: 'success', bytes: 1, httpStatus: 200, mark: undefined });
    for (const action of ['replay', 'retry']) {
      const { stdout, stderr } = await install.run([action, '--sink', 'crm', '--lead', '1', '--dry-run']);
      expect(stdout).toContain('Dry run: ');
      if (action === 'replay')
        expect(stderr).toBe(
          'The lead ids select leads from several sources: main, south. --source selects one.\n',
        );
    }
    expect(await install.run(['replay', '--sink', 'crm', '--lead', '1'])).toMatchObject({
      code: 1,
      stdout: '',
    });
    expect(await install.run(['replay', '--sink', 'crm', '--lead', '1', '--source', 'south'])).toMatchObject({
      code: 0,
      stdout: '1 lead is owed to crm again.\n',
    });
  });

  test('selects by when the sink got a lead, by reason, by state and by a list', async () => {
    const { install, deadId } = await withDead();
    const count = async (...args: string[]) => {
      const { stdout } = await install.run(['replay', '--sink', 'crm', ...args, '--dry-run']);
      return Number(/send ([\d,]+) lead/.exec(stdout)?.[1]);
    };
    expect(await count('--delivered-since', '1h')).toBe(2);
    expect(await count('--delivered-until', '1h')).toBe(0);
    expect(await count('--reason', 'REFUSES')).toBe(2);
    expect(await count('--state', 'delivered')).toBe(2);
    expect(await count('--ids', aList(install, `1\n2\n${await deadId(4n)}`))).toBe(3);
  });
});

describe('leadsync cancel-replay', () => {
  test('cancels what is left of a replay, which status shows', async () => {
    const { install, states } = await withDead();
    await install.run(['replay', '--sink', 'crm', '--all', '--yes']);
    const status = await install.run(['status']);
    expect(status.stdout).toContain(
      'crm: 4 deliveries of a replay are left.\n  `leadsync cancel-replay crm` cancels them.',
    );
    expect(await install.json('status')).toMatchObject({
      sinks: [{ replays_pending: 4 }, { replays_pending: 0 }],
    });
    const dry = await install.run(['cancel-replay', 'crm', '--dry-run']);
    expect(dry.stdout).toBe('Dry run: 4 pending deliveries of replays to crm would be cancelled.\n');
    const done = await install.run(['cancel-replay', 'crm']);
    expect(done).toEqual({
      code: 0,
      stdout: '4 pending deliveries of replays to crm are cancelled.\n',
      stderr: '',
    });
    expect(await states()).toMatchObject({ replays: 0, pending: 0, dead: 2 });
  });

  test('rejects an unknown sink', async () => {
    const { install } = await withDead();
    const { code, stderr } = await install.run(['cancel-replay', 'cmr']);
    expect(code).toBe(2);
    expect(stderr).toContain('did you mean "crm"');
  });
});

describe('leadsync retry', () => {
  test('asks on a terminal before it makes more than 100 due, and not in a script', async () => {
    const { install, states } = await withDead(400);
    const all = ['retry', '--sink', 'crm', '--state', 'dead'];
    expect(await install.run([...all, '--dry-run'])).toMatchObject({
      code: 0,
      stdout:
        'Dry run: 200 deliveries would be due now.\n  200 dead for crm, source main: The CRM refuses the lead (422).\n',
    });
    const no = await install.run(all, { stdin: typed('\n') });
    expect(no.code).toBe(1);
    expect(no.stderr).toContain('This makes 200 deliveries due now. Continue? [y/N] ');
    expect(await states()).toMatchObject({ dead: 200 });
    expect((await install.run(all)).stdout).toBe('200 deliveries are due now.\n');
  });

  test('selects by reason and by a list of ids', async () => {
    const { install, deadId } = await withDead(8);
    expect((await install.run(['retry', '--reason', '503'])).stdout).toBe('0 deliveries are due now.\n');
    expect(
      (await install.run(['retry', '--ids', aList(install, `${await deadId(2n)}\n4`), '--sink', 'crm']))
        .stdout,
    ).toBe('2 deliveries are due now.\n');
    expect((await install.run(['retry', '--reason', '422'])).stdout).toBe('2 deliveries are due now.\n');
    const both = await install.run(['retry', '--ids', aList(install, '2'), await deadId(2n)]);
    expect(both).toMatchObject({ code: 2, stderr: expect.stringContaining('not both') });
  });
});

test('leadsync forget asks always, needs --yes in a script, and counts with --dry-run', async () => {
  const { install, ledger } = await withDead();
  await ledger.declareSinks([{ name: 'crm', events: ['created'], backfill: true }]);
  const sinks = { crm: { type: 'csv', directory: './crm' } };
  const without = new Install({ data_dir: `${install.folder}/data`, sinks });
  expect((await without.run(['forget', 'drop', '--dry-run'])).stdout).toBe(
    'Dry run: 4 pending deliveries of drop would be skipped.\n',
  );
  expect(await without.run(['forget', 'drop'])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('This skips 4 pending deliveries of drop for good.'),
  });
  const yes = await without.run(['forget', 'drop'], { stdin: typed('y\n') });
  expect(yes.stdout).toBe('4 deliveries of drop skipped.\n');
});
