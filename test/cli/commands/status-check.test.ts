import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { attemptDue, Install } from '../an-install.ts';

const refused = { kind: 'refused', reason: 'The CRM refuses the lead (422).', httpStatus: 422 } as const;
const delivered = { kind: 'delivered' } as const;

describe('leadsync status --check', () => {
  test('is OK and exits with 0 when nothing needs attention', async () => {
    const install = new Install();
    await install.listed(1);
    expect(await install.running().run(['status', '--check'])).toEqual({
      code: 0,
      stdout: 'OK: Nothing needs attention.\n',
      stderr: '',
    });
  });

  test('exits with 1 for a warning, and says which and what to do', async () => {
    const install = new Install();
    const ledger = await install.listed(1, 2);
    await ledger.pause('drop', 'moving house');
    const { code, stdout } = await install.running().run(['status', '--check']);
    expect(code).toBe(1);
    expect(stdout.split('\n')[0]).toMatch(/^WARNING: drop has been paused/);
    expect(stdout).toContain('leadsync resume drop');
  });

  test('exits with 2 for a critical problem, which it names first, and counts the others', async () => {
    const install = new Install();
    const ledger = await install.listed(1, 2);
    await attemptDue(ledger, 'crm', install.clock, (lead) => (lead === '2' ? refused : delivered));
    await ledger.pause('drop', 'moving house');
    const { code, stdout } = await install.run(['status', '--check']);
    expect(code).toBe(2);
    expect(stdout.split('\n')[0]).toBe(
      'CRITICAL: No leadsync is running on this data directory, so nothing is polled or delivered. (and 2 more problems)',
    );
    expect(stdout).toMatch(/^crm: 1 dead delivery/m);
    expect(stdout).toMatch(/^drop has been paused/m);
  });

  test('exits with 1 when the file of a running leadsync has faults, and lists them', async () => {
    const install = new Install();
    await install.listed(1);
    const running = install.running();
    writeFileSync(install.configFile, 'wacth: true\n', { flag: 'a' });
    const { code, stdout } = await running.run(['status', '--check']);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^WARNING: .*faults?/);
    expect(stdout).toContain('did you mean "watch"?');
  });

  test.each([
    ['there is no ledger', (install: Install) => install.configFile, /^UNKNOWN: There is no ledger at/],
    [
      'there is no configuration',
      ({ folder }: Install) => join(folder, 'none.yaml'),
      /^UNKNOWN: .*none\.yaml/,
    ],
  ])('exits with 3 if %s, and prints so on standard output', async (_, file, text) => {
    const install = new Install();
    const { code, stdout, stderr } = await install.run(['-c', file(install), 'status', '--check']);
    expect({ code, stderr }).toEqual({ code: 3, stderr: '' });
    expect(stdout).toMatch(text);
  });

  test('does not go with --json', async () => {
    const { code, stderr } = await new Install().run(['status', '--check', '--json']);
    expect(code).toBe(2);
    expect(stderr).toContain('--check');
  });

  test('escapes what a terminal would obey', async () => {
    const install = new Install();
    const ledger = await install.listed(1);
    await ledger.pause('crm', 'a\u001b[31mred');
    const { stdout } = await install.running().run(['status', '--check']);
    expect(stdout).toContain('a\\u001b[31mred');
  });
});

test('leadsync status --json has the verdict and each problem', async () => {
  const install = new Install();
  const ledger = await install.listed(1);
  const running = install.running();
  const read = async () => JSON.parse((await running.run(['status', '--json'])).stdout);
  const well = await read();
  expect(well).toMatchObject({ healthy: true, problems: [] });
  await ledger.pause('crm', 'moving house');
  const { healthy, problems } = await read();
  expect({ healthy, problems }).toEqual({
    healthy: false,
    problems: [
      {
        code: 'sink_paused',
        severity: 'warning',
        about: 'crm',
        message: expect.stringContaining('moving house'),
        next_step: expect.stringContaining('resume crm'),
        runbook: 'docs/operating.md#sink-paused',
        runbook_url: null,
      },
    ],
  });
});
