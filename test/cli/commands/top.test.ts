import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { throughputOf } from '../../../src/cli/views/throughput.ts';
import type { RecentAttempt } from '../../../src/ledger/contract/feed-entries.ts';
import { aListedLead } from '../../support/scene/a-lead.ts';
import { attemptDue, Install } from '../an-install.ts';

const NOW = new Date('2026-11-20T10:00:00.000Z');
const ENTER = '\u001b[?1049h';
const LEAVE = '\u001b[?7h\u001b[?25h\u001b[?1049l';

function newLead({ clock }: Install, id: number, position: number) {
  return aListedLead({ id, created_at: clock.now().toISOString() }, position);
}

function anAttempt(secondsAgo: number, fields: Partial<RecentAttempt> = {}): RecentAttempt {
  const at = new Date(NOW.getTime() - secondsAgo * 1_000);
  return { sink: 'crm', at, outcome: 'delivered', speedMs: undefined, ...fields };
}

describe('the throughput', () => {
  test('is the outcomes of attempts in the last minute', () => {
    const attempts = [anAttempt(1), anAttempt(30), anAttempt(59, { outcome: 'refused' }), anAttempt(61)];
    expect(throughputOf(attempts, 100, NOW).get('crm')).toMatchObject({
      deliveredPerMinute: 2,
      failedPerMinute: 1,
    });
  });

  test('is computed from a shorter time if the data covers less than a minute', () => {
    const attempts = Array.from({ length: 100 }, (_, at) => anAttempt(at / 10));
    expect(throughputOf(attempts, 100, NOW).get('crm')?.deliveredPerMinute).toBe(600);
  });

  test('is separate for each sink, and missing for a sink without attempts', () => {
    const throughput = throughputOf([anAttempt(1), anAttempt(2, { sink: 'drop' })], 100, NOW);
    expect([...throughput.keys()]).toEqual(['crm', 'drop']);
    expect(throughputOf([], 100, NOW).size).toBe(0);
  });

  test('has the delivery times of the new leads of the last hour, as values that occurred', () => {
    const speeds = Array.from({ length: 20 }, (_, at) => anAttempt(100, { speedMs: (at + 1) * 100 }));
    const old = anAttempt(3_601, { speedMs: 99_999 });
    expect(throughputOf([...speeds, old], 100, NOW).get('crm')).toMatchObject({
      speedP50Ms: 1_000,
      speedP95Ms: 1_900,
    });
    expect(throughputOf([anAttempt(1)], 100, NOW).get('crm')?.speedP50Ms).toBe(undefined);
  });

  test('is right after the clock was set back', () => {
    expect(throughputOf([anAttempt(-500)], 1, NOW).get('crm')?.deliveredPerMinute).toBeGreaterThan(0);
  });
});

describe('leadsync top --once', () => {
  test('prints one frame without control characters', async () => {
    const install = new Install().running();
    const ledger = await install.recorded([1, 2].map((id, at) => newLead(install, id, at)));
    await attemptDue(ledger, 'crm', install.clock, () => ({ kind: 'delivered' }));
    install.clock.jump(10_000);
    const { code, stdout, stderr } = await install.run(['top', '--once']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).not.toContain('\u001b');
    expect(stdout).toMatch(/^leadsync \S+ {2}running {2}2026-11-20T10:00:10Z\n\nNothing needs attention\.\n/);
    expect(stdout).toMatch(/^main +success, 10 s ago +10 s +2 +2$/m);
    expect(stdout).toMatch(/^crm +healthy +0 +- +2 +0 +0 +0\.0 s +0\.0 s$/m);
    expect(stdout).toMatch(/^drop +healthy +2 +10 s +0 +0 +0 +- +-$/m);
  });

  test('names the installation, even in JSON', async () => {
    const install = new Install().running();
    await install.listed(1);
    expect(await install.json('top', '--once')).toMatchObject({ installation: null });
    install.configure({ name: 'north' });
    expect((await install.run(['top', '--once'])).stdout).toMatch(/^leadsync \S+ {2}north {2}running /);
    expect(await install.json('top', '--once')).toMatchObject({ installation: 'north' });
    expect(await install.json('status')).toMatchObject({ installation: 'north' });
  });

  test('prints the same for programs with --json', async () => {
    const install = new Install().running();
    const ledger = await install.recorded([1, 2].map((id, at) => newLead(install, id, at)));
    await attemptDue(ledger, 'crm', install.clock, () => ({ kind: 'delivered' }));
    install.clock.jump(10_000);
    const { code, stdout, stderr } = await install.run(['top', '--once', '--json']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const { sinks, ...shown } = JSON.parse(stdout);
    const { sinks: sinksOfStatus, ...status } = JSON.parse((await install.run(['status', '--json'])).stdout);
    expect(shown).toEqual(status);
    expect(sinks).toEqual([
      {
        ...sinksOfStatus[0],
        delivered_per_minute: 2,
        failed_per_minute: 0,
        speed_p50_seconds: 0,
        speed_p95_seconds: 0,
      },
      {
        ...sinksOfStatus[1],
        delivered_per_minute: 0,
        failed_per_minute: 0,
        speed_p50_seconds: null,
        speed_p95_seconds: null,
      },
    ]);
  });

  test('prints JSON only for one frame, not for a live picture', async () => {
    const { code, stderr } = await new Install().run(['top', '--json']);
    expect(code).toBe(2);
    expect(stderr).toContain('`leadsync top --once --json`');
  });

  test('prints the problems in sentences, first that no leadsync runs', async () => {
    const install = new Install();
    const ledger = await install.listed(1);
    await attemptDue(ledger, 'crm', install.clock, () => ({ kind: 'refused', reason: 'It says no.' }));
    await ledger.pause('drop', 'a holiday');
    const { stdout } = await install.run(['top', '--once']);
    expect(stdout).toMatch(
      /^leadsync \S+ {2}NOT RUNNING .*\n\nNo leadsync is running on this data directory/,
    );
    expect(stdout).toMatch(/^crm: 1 dead delivery since .*: It says no\.$/m);
    expect(stdout).toContain('drop has been paused since');
  });

  test.each([80, 40, 20])('fits a terminal of %i columns, with sink names of any length', async (columns) => {
    const long = 'a'.repeat(columns > 70 ? 40 : 10);
    const drop = { type: 'csv', directory: './drop' };
    const install = new Install({ sinks: { [long]: drop, b: drop } });
    await install.listed(1);
    const { stdout } = await install.run(['top', '--once'], { columns });
    const tooLong = stdout.split('\n').filter((line) => line.length > columns && / /.test(line.trim()));
    expect(tooLong.filter((line) => !line.startsWith('leadsync '))).toEqual([]);
    expect(stdout).toContain(long);
  });

  test('on a narrowing terminal, drops the delivery times before the dead deliveries', async () => {
    const install = new Install();
    await install.listed(1);
    const { stdout } = await install.run(['top', '--once'], { columns: 50 });
    expect(stdout).toMatch(/^SINK +STATE .* DEAD$/m);
  });

  test('colours problems on a terminal with colours', async () => {
    const install = new Install();
    const ledger = await install.listed(1);
    await attemptDue(ledger, 'crm', install.clock, () => ({ kind: 'refused', reason: 'It says no.' }));
    await ledger.pause('drop', 'a holiday');
    const { stdout } = await install.run(['top', '--once'], { columns: 60, colours: true });
    expect(stdout).toContain('  \u001b[31mNOT RUNNING\u001b[39m ');
    expect(stdout).toContain('\u001b[33mpaused\u001b[39m ');
    // Each line of a folded problem has its own colour, so that none colours the next line.
    const begun = (line: string) =>
      ['31', '33'].flatMap((colour) => line.split(`\u001b[${colour}m`).slice(1));
    for (const line of stdout.split('\n'))
      expect(line.split('\u001b[39m').slice(1), line).toHaveLength(begun(line).length);
    expect((await install.run(['top', '--once'], { columns: 60 })).stdout).not.toContain('\u001b');
  });

  test('escapes control characters in the name of a sink that only the ledger has', async () => {
    const install = new Install();
    const ledger = await install.ledger();
    const hostile = { events: ['created'] as const, backfill: true, name: '\u001b[2J\u009b31mred' };
    await ledger.declareSinks([hostile]);
    await install.listed(1);
    const { stdout } = await install.run(['top', '--once']);
    expect(stdout).toContain('\\u001b[2J\\u009b31mred');
    for (const obeyed of ['\u001b', '\u009b']) expect(stdout).not.toContain(obeyed);
  });

  test('says so if there is no ledger', async () => {
    const { code, stdout, stderr } = await new Install().run(['top', '--once']);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/There is no ledger/);
  });
});

test('leadsync top fails without a terminal', async () => {
  const install = new Install();
  await install.listed(1);
  const { code, stdout, stderr } = await install.run(['top']);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toContain('`leadsync top --once`');
});

describe('the terminal', () => {
  /** What a process writes that takes the screen and then does something. */
  const screenThat = async (does: string): Promise<string> => {
    const file = fileURLToPath(new URL('../../../src/cli/views/full-screen.ts', import.meta.url));
    const code = `import { FullScreen } from ${JSON.stringify(file)};
      const { stdout, stdin } = process;
      const screen = new FullScreen({ stdout, stdin }, { end: () => screen.close(), resize: () => {} });
      screen.show(['first', 'second']);
      ${does}`;
    const child = spawn(process.execPath, ['--input-type=module-typescript', '-e', code], {
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    child.stdin.end('q');
    let written = '';
    for await (const text of child.stdout.setEncoding('utf8')) written += text;
    return written;
  };

  test.each([
    ['is left by q', ''],
    ['is restored after an uncaught error', "throw new Error('a fault');"],
    ['is restored after an unhandled rejection', "Promise.reject(new Error('a fault'));"],
    ['is restored after an exit', 'process.exit(1);'],
  ])('%s', async (_, does) => {
    const written = await screenThat(does);
    expect(written.startsWith(ENTER)).toBe(true);
    expect(written).toContain('first\u001b[K\r\nsecond');
    expect(written.endsWith(LEAVE)).toBe(true);
    expect(written.split(LEAVE)).toHaveLength(2);
  });

  test('cuts a coloured line by its visible length, and ends its colour', async () => {
    const written = await screenThat("screen.show(['\\u001b[31m' + 'x'.repeat(81) + '\\u001b[39m']);");
    expect(written).toContain(`\u001b[31m${'x'.repeat(80)}\u001b[39m\u001b[K`);
  });
});
