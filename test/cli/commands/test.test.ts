import { renameSync, unlinkSync, writeFileSync } from 'node:fs';
import { describe, expect, onTestFinished, test } from 'vitest';
import { describeSink } from '../../../src/config/changes/compare-configs.ts';
import { loadConfig } from '../../../src/config/load-config.ts';
import type { BatchRef } from '../../../src/leads/delivery.ts';
import type { Outcome } from '../../../src/leads/outcome.ts';
import { textOf } from '../../../src/mapping/mapping-definition.ts';
import { sinkTypes } from '../../../src/sinks/registry.ts';
import { startLeadsync } from '../../support/program/leadsync.ts';
import { aListedLead } from '../../support/scene/a-lead.ts';
import { until } from '../../support/time/until.ts';
import { Install } from '../an-install.ts';

const URL = 'http://127.0.0.1:9/hook';

function anInstall(crm: Readonly<Record<string, unknown>>): Install {
  return new Install({
    sinks: { crm: { type: 'webhook', url: URL, ...crm }, plain: { type: 'webhook', url: URL } },
  });
}

/** Returns the ledger of an installation in which these leads were listed. */
function recordedBy(install: Install, ...leads: Record<string, unknown>[]) {
  return install.recorded(leads.map((lead, position) => aListedLead(lead, position)));
}

const plumbers = {
  where: 'lead.service_slug == "plumbing"',
  fields: { name: 'name(lead.client_name).last', phone: 'phone(lead.client_phone_number, "AU")' },
};

describe('leadsync test', () => {
  test('shows every test, and what came instead for one that fails', async () => {
    const install = anInstall({
      ...plumbers,
      tests: [
        { name: 'a last name', gives: { name: 'Citizen' } },
        { name: 'no phone', lead: { client_phone_number: 'ring me' }, gives: { phone: '+61' } },
        { name: 'gardeners', lead: { service_slug: 'gardening' }, left_out: true },
      ],
    });
    const { code, stdout, stderr } = await install.run(['test']);
    expect({ code, stderr }).toEqual({ code: 78, stderr: '' });
    expect(stdout).toBe(`sink crm
  ok      a last name
  FAILED  no phone
            phone
              expected  "+61"
              result    null
  ok      gardeners
3 tests, 1 failed.
`);
    expect((await install.run(['validate'])).stderr).toContain(
      'sinks.crm.tests[1].gives.phone: the test "no phone" expects "+61", and the result is null',
    );
  });

  test('exits with 0 if every test passes', async () => {
    const install = anInstall({ ...plumbers, tests: [{ name: 'x', gives: { name: 'Citizen' } }] });
    expect(await install.run(['test', 'crm'])).toEqual({
      code: 0,
      stdout: 'sink crm\n  ok      x\n1 test, all passed.\n',
      stderr: '',
    });
    expect(await install.json('test')).toEqual([
      { sink: 'crm', tests: [{ test: 'x', passed: true, differences: [] }] },
    ]);
  });

  test('says of a sink without a mapping that it has none', async () => {
    const install = anInstall({});
    expect((await install.run(['test', 'plain'])).stderr).toContain(
      'plain has no mapping: it gets every lead as received.',
    );
    expect((await install.run(['test'])).stderr).toContain('No sink has a mapping.');
    expect((await install.run(['test', 'crn'])).stderr).toContain('did you mean "crm"?');
  });

  test('applies a mapping to a recorded lead, and shows its content only when asked', async () => {
    const install = anInstall(plumbers);
    const lead = { id: 42, client_name: 'Ana Geheim', client_phone_number: '0412 345 678' };
    await recordedBy(install, { ...lead, service_slug: 'plumbing' }, { id: 43, service_slug: 'gardening' });
    expect((await install.run(['test', 'crm', '--lead', '42'])).stdout).toBe(
      'sink crm, lead 42 of main: would be sent\n  name   text of 6 characters\n  phone  text of 12 characters\n',
    );
    expect((await install.run(['test', 'crm', '--lead', '42', '--show-data'])).stdout).toContain(
      'name   "Geheim"',
    );
    expect((await install.run(['test', 'crm', '--lead', '43'])).stdout).toBe(
      'sink crm, lead 43 of main: would be left out\n',
    );
    expect(await install.run(['test', 'crm', '--lead', '44'])).toMatchObject({ code: 1 });
  });

  test('counts what becomes of the last leads', async () => {
    const install = anInstall({ ...plumbers, fields: { ...plumbers.fields, rooms: 'int(answer("rooms"))' } });
    const answers = (answer: string) => [{ question: 'Rooms?', slug: 'rooms', answer }];
    const plumbing = { service_slug: 'plumbing' };
    await recordedBy(
      install,
      { id: 1, service_slug: 'gardening' },
      { id: 2, ...plumbing, client_phone_number: '?', service_question_answers: answers('3') },
      { id: 3, ...plumbing, service_question_answers: answers('many') },
    );
    const { stdout, code } = await install.run(['test', 'crm', '--last', '50']);
    expect(code).toBe(1);
    expect(
      stdout,
    ).toBe(`sink crm: of the last 3 leads, 1 go to it, 1 are left out, and an expression fails for 1
  phone is empty for 1 of 1
  1 ×, such as main:3: The expression of \`rooms\` failed for this lead at column 1: the text is not a whole number.
`);
    expect(stdout).not.toContain('many');
    expect(await install.run(['test', '--last', 'all'])).toMatchObject({ code: 2 });
  });
});

describe('leadsync test --watch', () => {
  const passing = { ...plumbers, tests: [{ name: 'a last name', gives: { name: 'Citizen' } }] };
  const failing = { ...plumbers, tests: [{ name: 'a last name', gives: { name: 'Smith' } }] };
  const sinksOf = (crm: object) => ({ sinks: { crm: { type: 'webhook', url: URL, ...crm } } });
  const watching = (install: Install, ...args: string[]) => {
    const watch = startLeadsync(['test', '--watch', '-c', install.configFile, ...args]);
    onTestFinished(() => void watch.kill('SIGKILL'));
    return watch;
  };

  test('shows the tests again at each save, also after a fault, and ends well on Ctrl-C', async () => {
    const install = anInstall(passing);
    const watch = watching(install);
    await until('it watches', () => watch.stderr.includes('Press Ctrl-C to stop.'));
    expect(watch.stdout).toBe('sink crm\n  ok      a last name\n1 test, all passed.\n');
    install.configure(sinksOf(failing));
    await until('it shows the failure', () => watch.stdout.includes('1 test, 1 failed.'));
    expect(watch.stdout).toMatch(
      /\n\n\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ {2}\S*leadsync\.yaml was saved\nsink crm\n {2}FAILED/,
    );
    install.configure(sinksOf({ fields: { name: 'lead.client_nam' } }));
    await until('it shows the fault', () => watch.stderr.includes('there is no field client_nam'));
    writeFileSync(install.configFile, 'sinks: [');
    await until('it shows the broken syntax', () => /leadsync\.yaml:1:/.test(watch.stderr));
    unlinkSync(install.configFile);
    await until('it says that the file is gone', () => watch.stderr.includes('there is no such file'));
    install.configure(sinksOf(passing));
    await until('it shows success again', () => watch.stdout.split('all passed.').length === 3);
    expect(await watch.kill('SIGINT')).toEqual({ code: 0, signal: null });
  });

  test('sees a file that replaces the watched one, and shows the last of several saves', async () => {
    const install = anInstall(passing);
    const watch = watching(install, 'crm');
    await until('it watches', () => watch.stderr.includes('Press Ctrl-C to stop.'));
    const other = new Install();
    for (const [count, crm] of [failing, passing, failing].entries()) {
      other.configure(sinksOf({ ...crm, timeout: `${10 + count}s` }));
      renameSync(other.configFile, install.configFile);
    }
    await until('it shows the last', () => watch.stdout.includes('1 test, 1 failed.'));
    expect(await watch.kill('SIGINT')).toEqual({ code: 0, signal: null });
    expect(watch.stdout).toMatch(/1 failed\.\n$/);
  });

  test.each([['--json'], ['--lead', '42'], ['--last', '5']])('excludes %s', async (...more) => {
    const { code, stderr } = await anInstall(passing).run(['test', '--watch', ...more]);
    expect(code).toBe(2);
    expect(stderr).toContain('--watch shows tests as text');
  });
});

describe('leadsync plan', () => {
  test('says how many of the last leads go to a sink before and after a change of its mapping', async () => {
    const install = anInstall(plumbers);
    const ledger = await recordedBy(
      install,
      ...[1, 2, 3].map((id) => ({ id, service_slug: id === 1 ? 'plumbing' : 'gardening' })),
    );
    const { sinks } = loadConfig(install.configFile, { sinkTypes, env: {} });
    await ledger.declareSinks(
      sinks.map((sink) => ({
        name: sink.name,
        events: sink.events,
        backfill: true,
        config: describeSink(sink),
        mapping: sink.mapping && textOf(sink.mapping),
      })),
    );
    const { refs } = await ledger.claim({ sink: 'crm', window: 1, max: 2, waitMs: 0, leaseMs: 60_000 });
    const begun = await ledger.begin(refs[0] as BatchRef, 60_000);
    const outcomes = begun?.batch.deliveries.map(
      (): Outcome => ({ kind: 'unavailable', reason: 'It is down.', httpStatus: 503 }),
    );
    await ledger.settle(refs[0] as BatchRef, {
      outcomes: outcomes ?? [],
      startedAt: new Date(),
      durationMs: 1,
    });
    install.configure({
      sinks: {
        crm: { type: 'webhook', url: URL, ...plumbers, where: 'lead.service_slug != "plumbing"' },
        plain: { type: 'webhook', url: URL },
      },
    });
    const { stdout } = await install.run(['plan']);
    expect(stdout).toContain(
      '; still pending: 3 deliveries, of which 2 were sent before and will be sent unchanged; ',
    );
    expect(stdout).toContain('sink crm: where, from its next attempt on');
    expect(stdout).toContain(
      '; of the last 3 leads, 2 go to it instead of 1: 2 newly, and 1 no longer; `leadsync replay --sink crm --left-out` then delivers leads that were left out and that `where` now lets through\n',
    );
    const others = { ...plumbers, where: 'lead.id == 2' };
    install.configure({
      sinks: { crm: { type: 'webhook', url: URL, ...others }, plain: { type: 'webhook', url: URL } },
    });
    expect((await install.run(['plan'])).stdout).toContain(
      '; of the last 3 leads, 1 go to it, as many as before: 1 newly, and 1 no longer; `leadsync replay --sink crm --left-out` then delivers leads that were left out and that `where` now lets through\n',
    );
    install.configure({
      sinks: {
        crm: { type: 'webhook', url: URL, ...plumbers, where: 'int(lead.client_name) > 0' },
        plain: { type: 'webhook', url: URL },
      },
    });
    expect((await install.run(['plan'])).stdout).toContain(
      '0 go to it instead of 1, and an expression fails for 3, which would be refused: see `leadsync test`\n',
    );
  });
});

describe('leadsync preview', () => {
  test('shows the mapped request, and says why a lead does not go to the sink', async () => {
    const install = anInstall(plumbers);
    await recordedBy(install, { id: 42, service_slug: 'plumbing' }, { id: 43, service_slug: 'gardening' });
    const { stdout } = await install.run(['preview', '--sink', 'crm', '--lead', '42']);
    expect(stdout).toMatch(/"data":\{"name":"Müller","phone":/);
    expect((await install.run(['preview', '--sink', 'crm', '--lead', '43'])).stderr).toContain(
      'crm would not get lead 43: left out by `where` of crm',
    );
  });
});
