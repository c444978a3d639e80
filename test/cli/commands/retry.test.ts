import { describe, expect, test } from 'vitest';
import { LEFT_OUT } from '../../../src/leads/outcome.ts';
import type { Ledger } from '../../../src/ledger/contract/ledger.ts';
import { changedLead } from '../../ledger/ledger-under-test.ts';
import { aListedLead } from '../../support/scene/a-lead.ts';
import { attemptDue, Install } from '../an-install.ts';

const refused = { kind: 'refused', reason: 'The CRM refuses the lead (422).', httpStatus: 422 } as const;
const delivered = { kind: 'delivered' } as const;

async function twoDead() {
  const install = new Install();
  const ledger = await install.listed(1, 2, 3, 4);
  await attemptDue(ledger, 'crm', install.clock, (lead) => (['2', '4'].includes(lead) ? refused : delivered));
  return { install, ledger };
}

async function statesOf(ledger: Ledger, sink: string): Promise<string[]> {
  const rows = await ledger.deliveries({ sink }, { limit: 100 });
  return rows.map(({ lead, state }) => `${lead} ${state}`).sort();
}

async function nameOf(ledger: Ledger, lead: bigint, sink = 'crm'): Promise<string> {
  const [row] = await ledger.deliveries({ lead, sink }, { limit: 1 });
  return row?.delivery ?? '';
}

describe('leadsync retry', () => {
  test('makes the dead deliveries of a sink due, and does not change the delivered ones', async () => {
    const { install, ledger } = await twoDead();
    const { stdout, stderr, code } = await install.run(['retry', '--sink', 'crm', '--state', 'dead']);
    expect({ stdout, stderr, code }).toEqual({ stdout: '2 deliveries are due now.\n', stderr: '', code: 0 });
    expect(await statesOf(ledger, 'crm')).toEqual(['1 delivered', '2 pending', '3 delivered', '4 pending']);
  });

  test('prints why it skips a dead delivery whose lead has a newer delivery', async () => {
    const { install, ledger } = await twoDead();
    const name = await nameOf(ledger, 2n);
    await ledger.replay('crm', { lead: 2n });
    await attemptDue(ledger, 'crm', install.clock, () => delivered);
    const { stdout, stderr, code } = await install.run(['retry', '--lead', '2', '--state', 'dead']);
    expect({ stdout, code }).toEqual({ stdout: '0 deliveries are due now.\n', code: 0 });
    expect(stderr).toContain(`For example, ${name} stays dead: there is a newer delivery of the same lead`);
    expect(stderr).toContain('`leadsync replay --sink crm --source main --lead 2`');
  });

  test('selects deliveries by their ids', async () => {
    const { install, ledger } = await twoDead();
    const name = await nameOf(ledger, 2n);
    const { stdout, code } = await install.run(['retry', name]);
    expect({ stdout, code }).toEqual({ stdout: `${name} is due now.\n`, code: 0 });
    expect(await statesOf(ledger, 'crm')).toEqual(['1 delivered', '2 pending', '3 delivered', '4 dead']);
  });

  test('prints why it skips an id, retries the others, and exits with 1', async () => {
    const { install, ledger } = await twoDead();
    const [done, dead] = [await nameOf(ledger, 1n), await nameOf(ledger, 4n)];
    const { stdout, stderr, code } = await install.run(['retry', done, 'nonsense', dead]);
    expect(code).toBe(1);
    expect(stdout).toBe(`${dead} is due now.\n`);
    expect(stderr).toContain(`${done} is delivered; \`leadsync replay --sink crm --source main --lead 1\``);
    expect(stderr).toContain('nonsense is not in the ledger');
  });

  test('retries a delivery once whose id is given twice', async () => {
    const { install, ledger } = await twoDead();
    const name = await nameOf(ledger, 2n);
    const { stdout, stderr } = await install.run(['retry', name, name]);
    expect({ stdout, stderr }).toEqual({ stdout: `${name} is due now.\n`, stderr: '' });
  });

  test.each([[['crm:main:2:1:0a1b2c3d']], [['--sink', 'crm']], [['--state', 'dead']]])(
    'rejects --all beside %j, because one of the two is a mistake',
    async (args) => {
      const { install, ledger } = await twoDead();
      const { code, stderr } = await install.run(['retry', '--all', ...args]);
      expect(stderr).toContain('--all selects everything');
      expect(code).toBe(2);
      expect(await statesOf(ledger, 'crm')).toContain('2 dead');
    },
  );

  test('says that the deliveries of a paused sink wait', async () => {
    const { install, ledger } = await twoDead();
    await ledger.pause('crm', 'moving house');
    const { stderr } = await install.run(['retry', '--sink', 'crm']);
    expect(stderr).toContain('crm has been paused since 2026-11-20T10:00:00Z (0 s ago): moving house');
    expect(stderr).toContain('`leadsync resume crm` resumes it');
  });

  test('does not retry everything if there is no selection', async () => {
    const { install, ledger } = await twoDead();
    const { stderr, code } = await install.run(['retry']);
    expect(code).toBe(2);
    expect(stderr).toContain('--all selects every dead or pending delivery of every sink.');
    expect(await statesOf(ledger, 'crm')).toContain('2 dead');
    const all = await install.run(['retry', '--all']);
    expect(all).toMatchObject({ stdout: '6 deliveries are due now.\n', code: 0 });
  });

  test('selects by time', async () => {
    const { install } = await twoDead();
    install.clock.jump(86_400_000);
    expect((await install.run(['retry', '--state', 'dead', '--since', '2h'])).stdout).toBe(
      '0 deliveries are due now.\n',
    );
    expect((await install.run(['retry', '--state', 'dead', '--since', '2d'])).stdout).toBe(
      '2 deliveries are due now.\n',
    );
  });

  test.each([
    [['--sink', 'cmr'], 'did you mean "crm"'],
    [['--state', 'delivered'], 'Allowed choices are dead, pending, discarded'],
    [['--since', 'noon'], 'how long ago'],
  ])('takes %j for wrong usage', async (args, message) => {
    const { install } = await twoDead();
    const { code, stderr } = await install.run(['retry', ...args]);
    expect(stderr).toContain(message);
    expect(code).toBe(2);
  });
});

describe('leadsync replay', () => {
  test('owes a lead to a sink again, marked as a replay', async () => {
    const { install, ledger } = await twoDead();
    const { stdout, code } = await install.run(['replay', '--sink', 'crm', '--lead', '1']);
    expect({ stdout, code }).toEqual({ stdout: '1 lead is owed to crm again.\n', code: 0 });
    const rows = await ledger.deliveries({ sink: 'crm', lead: 1n }, { limit: 10 });
    expect(rows.map(({ state, replay }) => ({ state, replay }))).toEqual([
      { state: 'pending', replay: true },
      { state: 'delivered', replay: false },
    ]);
  });

  test('with --left-out, owes only leads that `where` left out, and says that `where` decides again', async () => {
    const install = new Install();
    const ledger = await install.listed(1, 2, 3);
    const leftOut = { kind: 'left-out', reason: `${LEFT_OUT} of crm` } as const;
    await attemptDue(ledger, 'crm', install.clock, (lead) => (lead === '2' ? delivered : leftOut));
    install.clock.jump(1);
    const replay = (...args: string[]) => install.run(['replay', '--sink', 'crm', '--left-out', ...args]);
    expect(await replay('--lead', '2')).toEqual({
      code: 1,
      stdout: '0 leads are owed to crm again.\n',
      stderr: expect.stringContaining(
        "The `where` of crm did not leave out lead 2 at the lead's last delivery",
      ),
    });
    expect(await replay('--lead', '3')).toMatchObject({
      stdout: '1 lead is owed to crm again. The present `where` decides at delivery whether crm gets it.\n',
    });
    expect(await replay()).toEqual({
      code: 0,
      stdout: '1 lead is owed to crm again. The present `where` decides at delivery whether crm gets it.\n',
      stderr: '',
    });
    expect(await statesOf(ledger, 'crm')).toEqual([
      '1 pending',
      '1 skipped',
      '2 delivered',
      '3 pending',
      '3 skipped',
    ]);
    expect(await replay('--since', '1h')).toEqual({
      code: 0,
      stdout: '0 leads are owed to crm again.\n',
      stderr: expect.stringContaining('`leadsync deliveries --sink crm --state skipped`'),
    });
  });

  test('selects by the time when a lead was first seen', async () => {
    const { install } = await twoDead();
    install.clock.jump(7_200_000);
    await install.listed(1, 2, 3, 4, 5);
    expect((await install.run(['replay', '--sink', 'crm', '--since', '1h'])).stdout).toBe(
      '1 lead is owed to crm again.\n',
    );
    expect((await install.run(['replay', '--sink', 'crm', '--until', '1h', '--yes'])).stdout).toBe(
      '4 leads are owed to crm again.\n',
    );
  });

  test('selects by the time when a lead last changed, too', async () => {
    const { install } = await twoDead();
    install.clock.jump(7_200_000);
    await install.recorded([
      changedLead(1, 'Bea'),
      ...[2, 3, 4].map((id, at) => aListedLead({ id }, at + 1)),
    ]);
    const { stdout } = await install.run(['replay', '--sink', 'crm', '--since', '1h']);
    expect(stdout).toBe('1 lead is owed to crm again.\n');
    expect((await install.run(['replay', '--help'])).stdout).toContain('first seen or last changed');
  });

  test('does not replay everything if there is no selection', async () => {
    const { install } = await twoDead();
    const { code, stderr } = await install.run(['replay', '--sink', 'crm']);
    expect(code).toBe(2);
    expect(stderr).toContain('--all sends every lead in the ledger to the sink again.');
    expect((await install.run(['replay', '--sink', 'crm', '--all', '--yes'])).stdout).toBe(
      '4 leads are owed to crm again.\n',
    );
  });

  test('counts a lead once whose id is given twice', async () => {
    const { install } = await twoDead();
    const { stdout } = await install.run(['replay', '--sink', 'crm', '--lead', '1', '--lead', '1']);
    expect(stdout).toBe('1 lead is owed to crm again.\n');
  });

  test('prints the next step if it finds nothing', async () => {
    const { install } = await twoDead();
    for (const more of [[], ['--dry-run']]) {
      const { stderr } = await install.run(['replay', '--sink', 'crm', '--lead', '99', ...more]);
      expect(stderr).toContain('`leadsync trace 99` shows whether a listing contained it');
    }
    const time = await install.run(['replay', '--sink', 'crm', '--until', '2020-01-01']);
    expect(time.stderr).toContain('No lead in the ledger matches.');
    expect(time.code).toBe(0);
  });

  test('exits with 1 if the lead does not exist', async () => {
    const { install } = await twoDead();
    expect(await install.run(['replay', '--sink', 'crm', '--lead', '99'])).toMatchObject({
      code: 1,
      stdout: '0 leads are owed to crm again.\n',
    });
  });

  test.each([
    [['--lead', '1'], "required option '--sink <name>' not specified"],
    [['--sink', 'crn', '--lead', '1'], 'did you mean "crm"'],
    [['--sink', 'crm', '--lead', '1', '--all'], '--all selects everything'],
    [['--sink', 'crm', '--left-out', '--all'], '--all selects everything'],
    [['--sink', 'crm', '--lead', '1', '--lead', '2'], 'Run the command once for each.'],
  ])('takes %j for wrong usage', async (args, message) => {
    const { install } = await twoDead();
    const { code, stderr } = await install.run(['replay', ...args]);
    expect(stderr).toContain(message);
    expect(code).toBe(2);
  });
});

describe('leadsync pause and resume', () => {
  test('a paused sink gets nothing until it is resumed', async () => {
    const install = new Install();
    const ledger = await install.listed(1);
    const paused = await install.run(['pause', 'crm', '--reason', 'moving house']);
    expect(paused.code).toBe(0);
    expect(paused.stderr).toContain(
      'crm is paused. Attempts that have started will finish; all other leads wait in the ledger. Resume with `leadsync resume crm`.',
    );
    expect(await install.json('status')).toMatchObject({
      sinks: [{ state: 'paused', paused_reason: 'moving house' }, {}],
    });
    await attemptDue(ledger, 'crm', install.clock, () => delivered);
    expect(await statesOf(ledger, 'crm')).toEqual(['1 pending']);
    const resumed = await install.run(['resume', 'crm']);
    expect(resumed).toMatchObject({ code: 0, stderr: 'crm is resumed: 1 lead can be delivered now.\n' });
    await attemptDue(ledger, 'crm', install.clock, () => delivered);
    expect(await statesOf(ledger, 'crm')).toEqual(['1 delivered']);
  });

  test('resume makes the next probe of a held sink due now, and says that the rest waits', async () => {
    const install = new Install();
    const ledger = await install.listed(...Array.from({ length: 30 }, (_, index) => index + 1));
    await attemptDue(ledger, 'crm', install.clock, () => ({ kind: 'unavailable', reason: 'It is down.' }));
    const { stderr } = await install.run(['resume', 'crm']);
    expect(stderr).toBe(
      'crm is held: its next probe, a single batch, is due now. Other leads wait for its result.\n',
    );
    expect(await install.json('status')).toMatchObject({ sinks: [{ state: 'held' }, {}] });
    await install.run(['pause', 'crm']);
    expect((await install.run(['resume', 'crm'])).stderr).toMatch(/^crm is resumed and still held: /);
  });

  test('a second pause keeps the time and the reason of the first, and prints them', async () => {
    const install = new Install();
    await install.listed(1);
    await install.run(['pause', 'crm', '--reason', 'moving house']);
    install.clock.jump(180_000);
    const { stderr, code } = await install.run(['pause', 'crm', '--reason', 'another']);
    expect(stderr).toBe('crm was already paused, since 2026-11-20T10:00:00Z (3 min ago): moving house\n');
    expect(code).toBe(0);
  });

  test('resume says so if the sink was not paused or held', async () => {
    const install = new Install();
    await install.listed(1);
    expect((await install.run(['resume', 'crm'])).stderr).toBe('crm was neither paused nor held.\n');
  });

  test('a sink that leadsync has not run with yet cannot be paused, and pause prints why', async () => {
    const first = new Install();
    await first.listed(1);
    const sinks = { fresh: { type: 'csv', directory: './fresh' } };
    const install = new Install({ data_dir: `${first.folder}/data`, sinks });
    for (const command of ['pause', 'resume']) {
      const { code, stderr } = await install.run([command, 'fresh']);
      expect(stderr).toContain('fresh is configured, but leadsync has not run with it yet');
      expect(code).toBe(1);
    }
  });

  test.each([[['pause', 'crm']], [['test-sink', 'crm']], [['deliveries', '--sink', 'crm']]])(
    '%j with the former name of a sink prints its new name',
    async (args) => {
      const hubspot = { type: 'csv', directory: './hubspot', formerly: 'crm' };
      const install = new Install({ sinks: { hubspot } });
      const ledger = await install.listed(1);
      await ledger.declareSinks([{ name: 'hubspot', formerly: 'crm', events: ['created'], backfill: true }]);
      const { code, stderr } = await install.run(args);
      expect(stderr).toMatch(
        /^There is no sink "crm": it was renamed to hubspot\.\nThe sinks are: hubspot(, drop)?\.\n$/,
      );
      expect(code).toBe(2);
    },
  );

  test.each([
    [['pause'], "missing required argument 'sink'"],
    [['pause', 'drup'], 'There is no sink "drup": did you mean "drop"?'],
    [['resume', 'a\u001b[2J'], 'There is no sink "a\\u001b[2J".'],
  ])('takes %j for wrong usage', async (args, message) => {
    const install = new Install();
    await install.listed(1);
    const { code, stderr } = await install.run(args);
    expect(stderr).toContain(message);
    expect(code).toBe(2);
  });
});
